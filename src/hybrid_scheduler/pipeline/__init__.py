"""The five phases from this machine's hardware to a report, each kept with a record of what it was made from."""
