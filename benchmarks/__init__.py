"""Speed against other tools, measured side by side in one run; `make bench` prints the table."""
