"""Statistics over the last tasks of a live race: who ended first, correlations, where the GPU is faster."""

from __future__ import annotations

import numpy as np

from hybrid_scheduler.core.placements import WAITING, Placements
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.learning.insight import History
from hybrid_scheduler.learning.labels import best_times, label_isolated
from hybrid_scheduler.live.snapshot import Analysis, Quantiles

MAX_TASKS = 2000
SIZE_BINS, INTENSITY_BINS = 20, 10
LOG_RATIO = 20.0  # largest over smallest size from which bins are logarithmic
TASK_FEATURES = ("size", "intensity", "memory", "GPU share", "best time")


class RecentTasks:
    """The last tasks as columns: features, speed-ups, and the turnaround under every scheduler.

    Tasks have consecutive numbers, so a column is a ring in which a task's place is its number modulo the length.
    """

    def __init__(self) -> None:
        self._features = np.empty((MAX_TASKS, len(TASK_FEATURES) + 1))
        self._turnaround: dict[str, Floats] = {}  # NaN: did not run there, or waits
        self._next = self._count = 0  # number of the next task; tasks that are kept

    def add(self, placed: dict[str, Placements]) -> None:
        """Add the placements of a block, by scheduler."""
        first = next(iter(placed.values()))
        tasks, times = first.tasks, first.times
        cpu, gpu = best_times(times, first.cluster)
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN: fits nowhere; infinite: on one kind only
            speedup = np.log2(cpu / gpu)
        columns = (tasks.size, tasks.compute_intensity, tasks.memory_required, label_isolated(times, first.cluster))
        places = tasks.task_id % MAX_TASKS
        self._features[places] = np.column_stack([*columns, np.minimum(cpu, gpu), speedup])
        for name in {**self._turnaround, **placed}:
            self._turnaround.setdefault(name, np.full(MAX_TASKS, np.nan))[places] = (
                placed[name].turnaround if name in placed else np.nan
            )
        self._next = int(tasks.task_id[-1]) + 1
        self._count = min(self._count + len(tasks), MAX_TASKS)

    def settle(self, name: str, started: Placements) -> None:
        """Add when tasks of earlier blocks end."""
        self._turnaround[name] = self._fill(name, started)

    def _fill(self, name: str, placed: Placements) -> Floats:
        column, known = self._turnaround[name].copy(), placed.tasks.task_id >= self._next - self._count
        column[placed.tasks.task_id[known] % MAX_TASKS] = placed.turnaround[known]
        return column

    def analyse(
        self,
        schedulers: list[str],
        histories: dict[str, History] | None = None,
        outlooks: dict[str, Placements] | None = None,
    ) -> Analysis:
        """Return the statistics of these schedulers; what waits counts as it would end if no more tasks came."""
        kept = np.arange(self._next - self._count, self._next) % MAX_TASKS
        features, speedup = self._features[kept, :-1], self._features[kept, -1]
        filled = {name: self._fill(name, each) for name, each in (outlooks or {}).items()}
        nothing = np.full(MAX_TASKS, np.nan)
        columns = {name: (self._turnaround | filled).get(name, nothing)[kept] for name in schedulers}
        sizes = features[:, 0]
        edges, log_sizes = _size_edges(sizes)
        intensity = np.linspace(0.0, 1.0, INTENSITY_BINS + 1)
        quantiles = np.quantile(sizes, (0.5, 0.95, 0.99)).tolist() if len(sizes) else [np.nan] * 3
        return Analysis(
            tasks=len(features),
            schedulers=schedulers,
            wins=[[int((columns[a] < columns[b]).sum()) for b in schedulers] for a in schedulers],
            features=[*TASK_FEATURES, *schedulers],
            correlation=_correlation(np.column_stack([features, *columns.values()])),
            size_edges=edges.tolist(),
            size_counts=np.histogram(sizes, edges)[0].tolist(),
            log_sizes=log_sizes,
            size_quantiles=Quantiles(*quantiles),
            intensity_edges=intensity.tolist(),
            heatmap=_bin_means(features, features[:, 3], edges, intensity),
            gpu_wins=_bin_means(features, (speedup > 0).astype(float), edges, intensity),
            speedup=_bin_medians(features, speedup, edges, intensity),
            histories=histories or {},
        )


class FirstFinishes:
    """Which scheduler ended a task first, found as soon as no other can have: ends may become known late."""

    def __init__(self) -> None:
        self._ids = np.empty(0, np.int64)
        self._ends: dict[str, Floats] = {}  # inf: will not run there; NaN: waits there

    def add(self, placed: dict[str, Placements]) -> None:
        """Add the placements of a block, by scheduler."""
        ids = next(iter(placed.values())).tasks.task_id
        ends = {name: np.full(len(ids), np.inf) for name in self._ends}
        for name, each in placed.items():
            ends[name] = np.where(each.status == WAITING, np.nan, np.where(each.ran, each.finish, np.inf))
        absent = np.full(len(self._ids), np.inf)
        self._ends = {name: np.concatenate([self._ends.get(name, absent), each]) for name, each in ends.items()}
        self._ids = np.concatenate([self._ids, ids])

    def settle(self, name: str, started: Placements) -> None:
        """Add when tasks of earlier blocks end; those that are decided already are passed over."""
        places = np.searchsorted(self._ids, started.tasks.task_id)
        found = places < len(self._ids)
        found[found] = self._ids[places[found]] == started.tasks.task_id[found]
        self._ends[name][places[found]] = started.finish[found]

    def count_wins(self, schedulers: list[str], now: float) -> dict[str, int]:
        """Return how many tasks each of these ended first, as far as that is certain at time `now`, and forget them.

        A task that waits somewhere ends there after `now`.
        """
        self._ends = {name: self._ends[name] for name in schedulers if name in self._ends}
        if not len(self._ids) or not self._ends:
            return {}
        ends = np.array(list(self._ends.values()))
        known = np.where(np.isnan(ends), np.inf, ends)
        first = known.min(axis=0)
        decided = ~np.isnan(ends).any(axis=0) | (first <= now)
        winners = known.argmin(axis=0)[decided & np.isfinite(first)]
        self._ids = self._ids[~decided]
        self._ends = {name: each[~decided] for name, each in self._ends.items()}
        return dict(zip(self._ends, np.bincount(winners, minlength=len(ends)).tolist(), strict=True))


def _size_edges(sizes: Floats) -> tuple[Floats, bool]:
    """Return the bin edges of sizes, and whether they are logarithmic."""
    low, high = (float(sizes.min()), float(sizes.max())) if len(sizes) else (0.0, 1.0)
    if low > 0 and high / low > LOG_RATIO:
        return np.geomspace(low, high, SIZE_BINS + 1), True
    return np.linspace(low, max(high, low + 1.0), SIZE_BINS + 1), False


def _correlation(columns: Floats) -> list[list[float]]:
    whole = columns[np.isfinite(columns).all(axis=1)]
    number = columns.shape[1]
    if len(whole) < 3:
        return [[float(a == b) for b in range(number)] for a in range(number)]
    varies = whole.std(axis=0) > 0
    result = np.eye(number)
    result[np.ix_(varies, varies)] = np.corrcoef(whole[:, varies], rowvar=False)
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
