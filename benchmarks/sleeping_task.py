"""The task of `killed_workers`, alone in its file, so that a new worker imports nothing else."""

from __future__ import annotations

import time

EVERY = 20  # tasks of which one raises
SECONDS = 0.002  # that a task takes, so that there is time to kill


def work(number: int) -> int:
    """Sleep a little; raise for one number in twenty."""
    time.sleep(SECONDS)
    if number % EVERY == 0:
        raise ValueError(number)
    return number
