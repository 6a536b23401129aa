"""Slow pictures of a live race: who beats whom, what goes with what, where the GPU wins."""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.engine.snapshot import Analysis
from hybrid_scheduler.learning.labels import best_times, isolated_labels
from hybrid_scheduler.model.placements import Placements
from hybrid_scheduler.model.tasks import Floats

LAST = 2000
SIZE_BINS, INTENSITY_BINS = 20, 10
TASK_FEATURES = ("size", "compute_intensity", "memory_required", "best gpu share", "fastest time")


class Memory:
    """The last tasks as columns: features, and every scheduler's turnaround."""

    def __init__(self) -> None:
        self._features: deque[Floats] = deque()
        self._turnarounds: deque[dict[str, Floats]] = deque()
        self._gpu_wins: deque[npt.NDArray[np.bool_]] = deque()
        self._count = 0

    def add(self, placed: dict[str, Placements]) -> None:
        """Remember a block."""
        first = next(iter(placed.values()))
        tasks, times = first.tasks, first.times
        cpu, gpu = best_times(times, first.cluster)
        columns = (tasks.size, tasks.compute_intensity, tasks.memory_required)
        labels = isolated_labels(times, first.cluster)
        self._features.append(np.column_stack([*columns, labels, np.minimum(cpu, gpu)]))
        self._gpu_wins.append(gpu < cpu)
        self._turnarounds.append({name: each.turnaround for name, each in placed.items()})
        self._count += len(tasks)
        while self._count - len(self._features[0]) >= LAST:
            self._count -= len(self._features.popleft())
            self._gpu_wins.popleft()
            self._turnarounds.popleft()

    def analysis(self, schedulers: list[str]) -> Analysis:
        """Return the pictures."""
        features = np.concatenate(self._features) if self._features else np.empty((0, len(TASK_FEATURES)))
        columns = {name: self._column(name) for name in schedulers}
        edges = _edges(features[:, 0])
        intensity = np.linspace(0.0, 1.0, INTENSITY_BINS + 1)
        gpu_wins = np.concatenate(self._gpu_wins) if self._gpu_wins else np.empty(0, bool)
        return Analysis(
            tasks=len(features),
            schedulers=schedulers,
            wins=[[int((columns[a] < columns[b]).sum()) for b in schedulers] for a in schedulers],
            features=[*TASK_FEATURES, *(f"turnaround of {name}" for name in schedulers)],
            correlation=_correlation(np.column_stack([features, *columns.values()])),
            size_edges=edges.tolist(),
            size_counts=np.histogram(features[:, 0], edges)[0].tolist(),
            intensity_edges=intensity.tolist(),
            heatmap=_cells(features, features[:, 3], edges, intensity),
            gpu_wins=_cells(features, gpu_wins.astype(float), edges, intensity),
        )

    def _column(self, name: str) -> Floats:
        parts = [each[name] if name in each else np.full(len(features), np.nan)
                 for each, features in zip(self._turnarounds, self._features, strict=True)]  # fmt: skip
        return np.concatenate(parts) if parts else np.empty(0)


def _edges(sizes: Floats) -> Floats:
    low, high = (float(sizes.min()), float(sizes.max())) if len(sizes) else (0.0, 1.0)
    return np.linspace(low, max(high, low + 1.0), SIZE_BINS + 1)


def _correlation(columns: Floats) -> list[list[float]]:
    whole = columns[np.isfinite(columns).all(axis=1)]
    number = columns.shape[1]
    if len(whole) < 3:
        return [[float(a == b) for b in range(number)] for a in range(number)]
    spread = whole.std(axis=0)
    steady = spread > 0
    result = np.eye(number)
    result[np.ix_(steady, steady)] = np.corrcoef(whole[:, steady], rowvar=False)
    rounded: list[list[float]] = np.round(result, 4).tolist()
    return rounded


def _cells(features: Floats, values: Floats, sizes: Floats, intensities: Floats) -> list[list[float | None]]:
    bins = [sizes, intensities]
    counts = np.histogram2d(features[:, 0], features[:, 1], bins)[0]
    sums = np.histogram2d(features[:, 0], features[:, 1], bins, weights=values)[0]
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return [[None if np.isnan(cell) else round(float(cell), 4) for cell in row] for row in means]
