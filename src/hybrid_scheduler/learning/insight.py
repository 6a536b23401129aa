"""What a learner tells about itself: how it stands now, and how its last lessons went."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from hybrid_scheduler.core.tasks import Floats

NAN = float("nan")
RETRAINS, POINTS = 30, 60  # of the histories

Reason = Literal["first", "interval", "drift"]


@dataclass(frozen=True)
class Retrain:
    """A fit of the forest; the error is that of the forest before it, on tasks which that one had not seen."""

    task: int  # the newest task when the new forest began to decide
    samples: int  # tasks that it was fitted on
    mae: float  # of the predicted GPU share, 0 to 1; NaN: there was no forest before
    r2: float
    tested: int  # tasks since the fit before, which both figures are about
    reason: Reason
    seconds: float  # wall time of the fit


@dataclass(frozen=True)
class AgentPoint:
    """How the agent stood after a lesson."""

    task: int  # the newest task when the lesson began to count
    epsilon: float
    loss: float
    reward: float  # running mean, in typical tasks


@dataclass(frozen=True)
class ForestInsight:
    """A forest of GPU shares, and one of seconds."""

    kind: Literal["forest"] = "forest"
    version: int = 0  # new models since the start; 0: what it started with
    beside: bool = False  # whether it learns in another process
    retrains: int = 0  # fits since the model was made, in lessons before the race too
    last_retrain: int | None = None  # task of the last fit in this race
    feature_importance: dict[str, float] = field(default_factory=dict)
    share_mae: float = NAN
    share_r2: float = NAN
    share_tested: int = 0
    seconds_mae: float = NAN
    seconds_r2: float = NAN
    seconds_tested: int = 0


@dataclass(frozen=True)
class AgentInsight:
    """An agent that learns from rewards."""

    kind: Literal["agent"] = "agent"
    version: int = 0
    beside: bool = False
    epsilon: float = NAN
    loss: float = NAN
    reward: float = NAN  # running mean, in typical tasks
    steps: int = 0  # gradient steps
    updates: int = 0  # lessons that changed the weights, since the start


@dataclass(frozen=True)
class OtherInsight:
    """What a policy from elsewhere tells, as plain data."""

    kind: Literal["other"] = "other"
    values: dict[str, Any] = field(default_factory=dict)


Insight = ForestInsight | AgentInsight | OtherInsight


@dataclass(frozen=True)
class ForestHistory:
    """The last fits, newest last."""

    points: list[Retrain]
    kind: Literal["forest"] = "forest"


@dataclass(frozen=True)
class AgentHistory:
    """The last lessons, newest last."""

    points: list[AgentPoint]
    kind: Literal["agent"] = "agent"


History = ForestHistory | AgentHistory


LAST = 1000


class Guesses:
    """The last tasks' predicted and true seconds by class; errors are worked out when somebody asks."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Floats, Floats]] = deque()
        self.count = 0

    def add(self, predicted: Floats, true: Floats) -> None:
        """Remember some tasks; infinite is what a class cannot run, and nobody has to guess that."""
        self._pairs.append((predicted, true))
        self.count += len(true)
        while self.count - len(self._pairs[0][1]) >= LAST:
            self.count -= len(self._pairs.popleft()[1])

    def errors(self) -> tuple[float, float]:
        """Return the mean absolute error and R²; NaN without tasks."""
        if not self._pairs:
            return np.nan, np.nan
        predicted, true = (
            np.concatenate([each.ravel() for each in column]) for column in zip(*self._pairs, strict=True)
        )
        known = np.isfinite(true)
        return errors(predicted[known], true[known])


def errors(predicted: Floats, true: Floats) -> tuple[float, float]:
    """Return the mean absolute error and R² of predictions; NaN where they have none."""
    if not len(true):
        return np.nan, np.nan
    spread = float(((true - true.mean()) ** 2).sum())
    missed = predicted - true
    return float(np.abs(missed).mean()), 1.0 - float((missed**2).sum()) / spread if spread > 0 else np.nan
