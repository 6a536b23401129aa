"""What a learner reports about itself: its present state, its last training steps, and its prediction errors."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from hybrid_scheduler.core.float_or_nan import FloatOrNaN
from hybrid_scheduler.core.tasks import Floats

NAN = float("nan")
RETRAINS, POINTS = 30, 60  # of the histories

Reason = Literal["first", "interval", "drift"]


@dataclass(frozen=True)
class Retrain:
    """A fit of the forest."""

    task: int
    """The newest task when the new forest began to decide."""
    samples: int
    """Tasks that it was fitted on."""
    mae: FloatOrNaN
    """As share_mae: of the forest before, on tasks that it had not seen."""
    r2: FloatOrNaN
    """As share_r2."""
    tested: int
    """Tasks that both are about."""
    reason: Reason
    """first: there was none; interval: it was time and worth it; drift: the work had changed."""
    seconds: FloatOrNaN
    """Wall time of the fit."""


@dataclass(frozen=True)
class AgentPoint:
    """The agent after an update."""

    task: int
    """The newest task when the update took effect."""
    epsilon: FloatOrNaN
    loss: FloatOrNaN
    reward: FloatOrNaN
    """Running mean, in typical tasks."""


class CurvePoint(NamedTuple):
    """A point of the learning curve."""

    tasks: int
    steps: int
    loss: float
    epsilon: float
    reward: float  # running mean, in units of the mean task


@dataclass(frozen=True)
class ForestInsight:
    """State of a forest (hybrid_ml)."""

    kind: Literal["forest"] = "forest"
    version: int = 0
    """Models that have replaced one another in this race; 0: the one it started with."""
    beside: bool = False
    """Whether it trains in a process of its own; then a new model counts 50 tasks later."""
    retrains: int = 0
    """Fits of this model, pretraining included."""
    last_retrain: int | None = None
    """The newest task when the last forest began to decide; null: none in this race yet."""
    feature_importance: dict[str, FloatOrNaN] = field(default_factory=dict)
    """How much each feature matters to the predicted GPU share; they add up to 1."""
    share_mae: FloatOrNaN = NAN
    """Mean absolute error of the predicted GPU share (0 to 1) against the share that was best in retrospect.

    On the tasks between the last two fits, which the forest of that time had not seen; null: only one fit yet.
    """
    share_r2: FloatOrNaN = NAN
    """R² of the same predictions; null also where the best shares were all equal."""
    share_tested: int = 0
    """Tasks that these two are about."""
    seconds_mae: FloatOrNaN = NAN
    """Mean absolute error, in seconds, of the predicted execution times on all classes that can run the task."""
    seconds_r2: FloatOrNaN = NAN
    """R² of the same predictions."""
    seconds_tested: int = 0
    """Tasks that these two are about: the last ones, 1000 at most."""


@dataclass(frozen=True)
class AgentInsight:
    """State of a reinforcement learning agent (rl_agent)."""

    kind: Literal["agent"] = "agent"
    version: int = 0
    """Models that have replaced one another in this race; 0: the one it started with."""
    beside: bool = False
    """Whether it trains in a process of its own; then a new model counts 50 tasks later."""
    epsilon: FloatOrNaN = NAN
    """Share of random decisions, 0 to 1."""
    loss: FloatOrNaN = NAN
    """Of the last update; null before the first one."""
    reward: FloatOrNaN = NAN
    """What a decision earns lately: a running mean, in typical tasks; 0 would cost nothing."""
    steps: int = 0
    """Gradient steps, pretraining not included."""
    updates: int = 0
    """Updates of this race that have changed its weights."""


@dataclass(frozen=True)
class OtherInsight:
    """What a third-party policy reports about itself."""

    kind: Literal["other"] = "other"
    values: dict[str, Any] = field(default_factory=dict)


Insight = ForestInsight | AgentInsight | OtherInsight


@dataclass(frozen=True)
class ForestHistory:
    """The last fits of a forest."""

    points: list[Retrain]
    """Newest last, 30 at most."""
    kind: Literal["forest"] = "forest"


@dataclass(frozen=True)
class AgentHistory:
    """The last updates of an agent."""

    points: list[AgentPoint]
    """Newest last, 60 at most."""
    kind: Literal["agent"] = "agent"


History = ForestHistory | AgentHistory


WINDOW = 1000  # tasks


class PredictionErrors:
    """Tracks predicted and true seconds by class of the last tasks; errors are computed on demand."""

    def __init__(self) -> None:
        self._pairs: deque[tuple[Floats, Floats]] = deque()
        self.count = 0

    def add(self, predicted: Floats, true: Floats) -> None:
        """Add tasks; infinite times (a class cannot run a task) do not count."""
        self._pairs.append((predicted, true))
        self.count += len(true)
        while self.count - len(self._pairs[0][1]) >= WINDOW:
            self.count -= len(self._pairs.popleft()[1])

    def mae_and_r2(self) -> tuple[float, float]:
        """Return the mean absolute error and R²; NaN without tasks."""
        if not self._pairs:
            return np.nan, np.nan
        predicted, true = (
            np.concatenate([each.ravel() for each in column]) for column in zip(*self._pairs, strict=True)
        )
        known = np.isfinite(true)
        return mae_and_r2(predicted[known], true[known])


def mae_and_r2(predicted: Floats, true: Floats) -> tuple[float, float]:
    """Return the mean absolute error and R² of predictions; NaN where they have none."""
    if not len(true):
        return np.nan, np.nan
    spread = float(((true - true.mean()) ** 2).sum())
    error = predicted - true
    return float(np.abs(error).mean()), 1.0 - float((error**2).sum()) / spread if spread > 0 else np.nan
