"""Keeps what happened: tables, the store (the only SQL), the recorder that feeds it, and the cache."""
