"""How good predictions were that a policy made before it knew better."""

from __future__ import annotations

from collections import deque

import numpy as np

from hybrid_scheduler.model.tasks import Floats

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
