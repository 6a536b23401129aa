"""The certified makespan bound of an endless stream, updated as tasks arrive.

For prices λ ≥ 0 every second of a device of class d can do at most λ_d of priced work, and a task brings at least
min_d λ_d · t(i, d). So the priced work that any schedule still has before it obeys a queue: it shrinks by
Σ_d count_d · λ_d a second and grows with every arrival. What is left when the last task has arrived, divided by that
rate, is time that no schedule can avoid. This holds for any prices; a grid of them is followed and the best counts.
Devices that fail or come back change the rate, and nothing else.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.tasks import Floats, Ints

GRID = 65  # price vectors of two classes
MIXTURES = 128  # price vectors of more than two classes


class LiveBound:
    """The earliest moment at which all tasks so far can have ended."""

    def __init__(self, cluster: Cluster, now: float = 0.0) -> None:
        self.prices = _price_grid(len(cluster.classes))
        self.counts = cluster.counts
        self._left = np.zeros(len(self.prices))  # priced work
        self._longest = 0.0  # the latest arrival + shortest time of a single task
        self._ended = 0.0  # the bound before the devices changed
        self.now = now

    def fork(self) -> LiveBound:
        """Return an independent copy."""
        twin = copy(self)
        twin._left = self._left.copy()
        return twin

    def use_devices(self, counts: Ints, now: float) -> None:
        """Continue with these numbers of devices by class from `now` on."""
        ends = self._ends()
        self._ended = max(self._ended, float(ends[ends <= now].max(initial=0.0)))
        self._left = np.maximum(self._left - self.prices @ self.counts * max(0.0, now - self.now), 0.0)
        self.now, self.counts = max(self.now, now), counts

    def add(self, arrival: Floats, times: Floats) -> None:
        """Add tasks in order of arrival; `times` by (task, class), inf where it cannot run."""
        fits = np.isfinite(times).any(axis=1)  # others are rejected by every scheduler
        arrival, times = arrival[fits], times[fits]
        if not len(arrival):
            return
        rate = self.prices @ self.counts
        with np.errstate(invalid="ignore"):  # a price of 0 for a class that cannot run the task says nothing
            priced = np.where(np.isfinite(times)[:, None, :], times[:, None, :] * self.prices, np.inf)
        least = priced.min(axis=2)
        # Lindley's recursion left = max(left - rate · gap, 0) + work, for all tasks at once: the last of the running
        # sums, lifted by as much as the lowest of them lies below 0.
        moments = np.maximum.accumulate(np.maximum(arrival, self.now))
        changes = -np.outer(np.diff(moments, prepend=self.now), rate)
        changes[0] += self._left
        changes[1:] += least[:-1]
        sums = changes.cumsum(axis=0)
        self._left = sums[-1] - np.minimum(sums.min(axis=0), 0.0) + least[-1]
        self.now = float(moments[-1])
        with np.errstate(divide="ignore"):  # split over one device of every class: no schedule is faster
            self._longest = max(self._longest, float((arrival + 1.0 / (1.0 / times).sum(axis=1)).max()))

    def _ends(self) -> Floats:
        """Return when the work can have ended, by price vector; vectors that price no device bound nothing."""
        rate = self.prices @ self.counts
        waits = np.divide(self._left, rate, out=np.zeros_like(rate), where=(rate > 0) & (self._left > 0))
        ends: Floats = self.now + waits
        return ends

    @property
    def seconds(self) -> float:
        """The bound, in simulated seconds since the start."""
        left = self._ends()[self._left > 0]
        return max(float(left.max(initial=0.0)), self._longest, self._ended)


def _price_grid(classes: int) -> Floats:
    if classes == 1:
        return np.ones((1, 1))
    if classes == 2:
        share = np.linspace(0.0, 1.0, GRID)
        return np.column_stack([share, 1.0 - share])
    mixtures = np.random.default_rng(0).dirichlet(np.ones(classes), MIXTURES)
    return np.concatenate([np.eye(classes), mixtures])
