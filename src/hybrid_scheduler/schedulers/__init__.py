"""One file per policy; `registry.schedulers` is the table of their names."""
