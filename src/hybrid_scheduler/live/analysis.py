"""Statistics over the last tasks of a live race: pairwise wins, correlations, where the GPU is faster."""

from __future__ import annotations

from collections import deque

import numpy as np

from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.learning.insight import History
from hybrid_scheduler.learning.labels import best_times, label_isolated
from hybrid_scheduler.live.snapshot import Analysis, Quantiles

MAX_TASKS = 2000
SIZE_BINS, INTENSITY_BINS = 20, 10
LOG_RATIO = 20.0  # largest over smallest size from which bins are logarithmic
TASK_FEATURES = ("size", "intensity", "memory", "GPU share", "best time")


class RecentTasks:
    """The last tasks as columns: features, speed-ups, and the turnaround under every scheduler."""

    def __init__(self) -> None:
        self._features: deque[Floats] = deque()
        self._turnarounds: deque[dict[str, Floats]] = deque()
        self._speedup: deque[Floats] = deque()  # log2 of CPU time over GPU time; infinite where only one can
        self._count = 0

    def add(self, placed: dict[str, Placements]) -> None:
        """Add the placements of a block, by scheduler."""
        first = next(iter(placed.values()))
        tasks, times = first.tasks, first.times
        cpu, gpu = best_times(times, first.cluster)
        columns = (tasks.size, tasks.compute_intensity, tasks.memory_required)
        labels = label_isolated(times, first.cluster)
        self._features.append(np.column_stack([*columns, labels, np.minimum(cpu, gpu)]))
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN: fits nowhere
            self._speedup.append(np.log2(cpu / gpu))
        self._turnarounds.append({name: each.turnaround for name, each in placed.items()})
        self._count += len(tasks)
        while self._count - len(self._features[0]) >= MAX_TASKS:
            self._count -= len(self._features.popleft())
            self._speedup.popleft()
            self._turnarounds.popleft()

    def analyse(self, schedulers: list[str], histories: dict[str, History] | None = None) -> Analysis:
        """Return the statistics of these schedulers."""
        features = np.concatenate(self._features) if self._features else np.empty((0, len(TASK_FEATURES)))
        columns = {name: self._turnaround(name) for name in schedulers}
        edges, log_sizes = _size_edges(features[:, 0])
        intensity = np.linspace(0.0, 1.0, INTENSITY_BINS + 1)
        speedup = np.concatenate(self._speedup) if self._speedup else np.empty(0)
        return Analysis(
            tasks=len(features),
            schedulers=schedulers,
            wins=[[int((columns[a] < columns[b]).sum()) for b in schedulers] for a in schedulers],
            features=[*TASK_FEATURES, *schedulers],
            correlation=_correlation(np.column_stack([features, *columns.values()])),
            size_edges=edges.tolist(),
            size_counts=np.histogram(features[:, 0], edges)[0].tolist(),
            log_sizes=log_sizes,
            size_quantiles=_quantiles(features[:, 0]),
            intensity_edges=intensity.tolist(),
            heatmap=_bin_means(features, features[:, 3], edges, intensity),
            gpu_wins=_bin_means(features, (speedup > 0).astype(float), edges, intensity),
            speedup=_bin_medians(features, speedup, edges, intensity),
            histories=histories or {},
        )

    def _turnaround(self, name: str) -> Floats:
        parts = [each[name] if name in each else np.full(len(features), np.nan)
                 for each, features in zip(self._turnarounds, self._features, strict=True)]  # fmt: skip
        return np.concatenate(parts) if parts else np.empty(0)


def _size_edges(sizes: Floats) -> tuple[Floats, bool]:
    """Return the bin edges of sizes, and whether they are logarithmic."""
    low, high = (float(sizes.min()), float(sizes.max())) if len(sizes) else (0.0, 1.0)
    if low > 0 and high / low > LOG_RATIO:
        return np.geomspace(low, high, SIZE_BINS + 1), True
    return np.linspace(low, max(high, low + 1.0), SIZE_BINS + 1), False


def _quantiles(sizes: Floats) -> Quantiles:
    if not len(sizes):
        return Quantiles(np.nan, np.nan, np.nan)
    return Quantiles(*np.quantile(sizes, (0.5, 0.95, 0.99)).tolist())


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


def _bin_means(features: Floats, values: Floats, sizes: Floats, intensities: Floats) -> list[list[float | None]]:
    bins = [sizes, intensities]
    counts = np.histogram2d(features[:, 0], features[:, 1], bins)[0]
    sums = np.histogram2d(features[:, 0], features[:, 1], bins, weights=values)[0]
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    return [[None if np.isnan(cell) else round(float(cell), 4) for cell in row] for row in means]


def _bin_medians(features: Floats, values: Floats, sizes: Floats, intensities: Floats) -> list[list[float | None]]:
    """Return the median of the finite values of every cell, for all cells at once by sorting."""
    finite = np.isfinite(values)
    row, column = _bin_index(features[finite, 0], sizes), _bin_index(features[finite, 1], intensities)
    columns = len(intensities) - 1
    cell = row * columns + column
    order = np.lexsort((values[finite], cell))
    ordered, wanted = cell[order], np.arange((len(sizes) - 1) * columns)
    first, end = np.searchsorted(ordered, wanted), np.searchsorted(ordered, wanted, side="right")
    padded = np.append(values[finite][order], np.nan)  # an empty last cell points behind the last value
    middle = (padded[(first + end - 1) // 2] + padded[(first + end) // 2]) / 2
    medians = [round(value, 4) if some else None for value, some in zip(middle.tolist(), end > first, strict=True)]
    return [medians[begin : begin + columns] for begin in range(0, len(medians), columns)]


def _bin_index(values: Floats, edges: Floats) -> Ints:
    """Return the bin of every value; the last bin is closed on both sides, as in NumPy's histograms."""
    found: Ints = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    return found
