"""A sweep spreads many comparisons over processes or a Ray cluster and collects one table."""
