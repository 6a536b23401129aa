"""The figures, grouped by what they show; `gallery.py` lists them by name."""
