"""Figures, one file each, and the reports that are made of them."""
