"""A suite runs every policy on every instance of a directory and keeps one scoreboard."""
