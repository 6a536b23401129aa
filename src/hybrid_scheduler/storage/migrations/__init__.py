"""Brings a database to the tables of this version, by itself, when a store is opened."""
