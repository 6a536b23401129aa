"""What the learners of a live race tell about themselves, whoever wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from hybrid_scheduler.learning.insight import (
    AgentHistory,
    AgentInsight,
    ForestHistory,
    ForestInsight,
    History,
    Insight,
    OtherInsight,
)
from hybrid_scheduler.schedulers.scheduler import Scheduler

MOST, DEEPEST, LONGEST = 20, 3, 200  # entries of a collection, collections in one another, characters of a text


def insight_of(scheduler: Scheduler) -> Insight | None:
    """Return what a scheduler tells about itself; None if it tells nothing."""
    try:
        told = getattr(scheduler, "insight", None)
        if told is None or isinstance(told, ForestInsight | AgentInsight | OtherInsight):
            return told
        return OtherInsight(values=_plain(told) if isinstance(told, Mapping) else {"insight": _plain(told)})
    except Exception as error:  # noqa: BLE001  # a plug-in that cannot tell must not stop those who watch; it is shown
        return OtherInsight(values={"error": f"{type(error).__name__}: {error}"[:LONGEST]})


def history_of(scheduler: Scheduler) -> History | None:
    """Return how a scheduler's last lessons went; None if it is not one whose lessons are known here."""
    if not isinstance(insight_of(scheduler), ForestInsight | AgentInsight):
        return None  # its `history` may be anything
    history = getattr(scheduler, "history", None)
    return history if isinstance(history, ForestHistory | AgentHistory) else None


def _plain(value: Any, depth: int = 0) -> Any:
    """Return what JSON can hold, and not too much of it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float):
        return value if not isinstance(value, int) or abs(value) < 2**53 else float(value)
    if depth < DEEPEST and isinstance(value, Mapping):
        return {_plain(str(key)): _plain(each, depth + 1) for key, each in islice(value.items(), MOST)}
    if depth < DEEPEST and isinstance(value, list | tuple):
        return [_plain(each, depth + 1) for each in value[-MOST:]]
    return str(value)[:LONGEST].encode(errors="replace").decode()  # half a surrogate pair has no JSON
