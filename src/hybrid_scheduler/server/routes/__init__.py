"""One file per group of endpoints; each has a `router`, and the app takes all it finds."""
