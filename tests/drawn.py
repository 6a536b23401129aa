"""How many examples Hypothesis draws: few, the same every time, or many new ones with `HMS_FUZZ=1 make test`."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

HUNT = bool(os.environ.get("HMS_FUZZ"))


def examples(many: int, **options: Any) -> settings:
    """Return settings of a test that draws so many examples in a hunt, and a quarter of them in a usual run."""
    return settings(max_examples=many if HUNT else many // 4, deadline=None, derandomize=not HUNT, **options)
