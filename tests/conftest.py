"""Hypothesis draws the same examples every time; `HMS_FUZZ=1 make test` draws new ones, for those who hunt."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
settings.register_profile("hunt", derandomize=False, print_blob=True)
settings.load_profile("hunt" if os.environ.get("HMS_FUZZ") else "steady")
