"""`make results`: run every experiment, keep the numbers in docs/results.json, write RESULTS.md from them."""
