"""One file per figure; `gallery.py` lists them."""
