"""A task is work that arrives; `Tasks` holds many of them as columns, checked once and trusted afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.errors import InputError, RowError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DURATION_SCALE = 1e-6
"""Seconds per unit of N^1.5: `k` of the base duration."""
DURATION_EXPONENT = 1.5
MEASURED, EXPECTED, FEATURE = "time_", "expected_", "feature_"
"""How the names of columns in files begin that hold measured times, expected times and further features."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task, as a person writes it down; `measured` maps device classes to seconds of the whole task.

    `expected` maps them to what is believed beforehand, where that differs; `features` are further facts known then.
    """

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float = 0.0
    dependencies: tuple[int, ...] = ()
    duration_estimate: float | None = None
    measured: Mapping[str, float] = field(default_factory=dict)
    expected: Mapping[str, float] = field(default_factory=dict)
    features: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Edges:
    """Which task waits for which, as rows: the parents of row i are `parents[start[i]:start[i + 1]]`."""

    start: Ints
    parents: Ints
    megabytes: Floats

    def of(self, row: int) -> Ints:
        """Return the rows that row `row` waits for."""
        return self.parents[self.start[row] : self.start[row + 1]]

    @property
    def child(self) -> Ints:
        """The waiting row of every edge."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def turned(self) -> Edges:
        """Return the same edges seen from the parents: rows become children."""
        order = np.argsort(self.parents, kind="stable")
        counts = np.bincount(self.parents, minlength=len(self.start) - 1)
        start = np.concatenate([[0], np.cumsum(counts)])
        return Edges(start.astype(np.int64), self.child[order], self.megabytes[order])


def no_edges(count: int) -> Edges:
    """Return the edges of `count` independent tasks."""
    return Edges(np.zeros(count + 1, np.int64), np.empty(0, np.int64), np.empty(0))


def base_duration(
    size: Floats, intensity: Floats, scale: float = DURATION_SCALE, exponent: float = DURATION_EXPONENT
) -> Floats:
    """Return the base duration k·N^1.5/(I + 0.5) in seconds; a machine's own k and exponent may take their place."""
    with np.errstate(all="ignore"):  # what cannot be used is found by the check of the columns
        if exponent == DURATION_EXPONENT:  # N·√N is faster than a power, and its bits are those of kept runs
            base: Floats = scale * size * np.sqrt(size) / (intensity + 0.5)
        else:
            base = scale * size**exponent / (intensity + 0.5)
    return base


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks as columns, one row per task, in any order of arrival.

    `measured` are the seconds by device class that really pass, `expected` those that policies are told instead;
    `features` are further columns that models may learn from.
    """

    size: Floats
    compute_intensity: Floats
    memory_required: Floats
    arrival_time: Floats
    task_id: Ints
    duration_estimate: Floats
    edges: Edges
    measured: Mapping[str, Floats] = field(default_factory=dict)
    expected: Mapping[str, Floats] = field(default_factory=dict)
    features: Mapping[str, Floats] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        size: npt.ArrayLike,
        compute_intensity: npt.ArrayLike,
        memory_required: npt.ArrayLike,
        arrival_time: npt.ArrayLike | None = None,
        task_id: npt.ArrayLike | None = None,
        duration_estimate: npt.ArrayLike | None = None,
        edges: Edges | None = None,
        measured: Mapping[str, npt.ArrayLike] | None = None,
        expected: Mapping[str, npt.ArrayLike] | None = None,
        features: Mapping[str, npt.ArrayLike] | None = None,
    ) -> Tasks:
        """Check the columns and build tasks; NaN or missing duration estimates follow the formula."""
        sizes = _column("size", size)
        count = len(sizes)
        intensity = _column("compute_intensity", compute_intensity, count)
        base = base_duration(sizes, intensity)
        if duration_estimate is not None:
            given = _column("duration_estimate", duration_estimate, count)
            base = np.where(np.isnan(given), base, given)
        tasks = cls(
            size=sizes,
            compute_intensity=intensity,
            memory_required=_column("memory_required", memory_required, count),
            arrival_time=np.zeros(count) if arrival_time is None else _column("arrival_time", arrival_time, count),
            task_id=np.arange(count) if task_id is None else _ids(task_id, count),
            duration_estimate=base,
            edges=edges or no_edges(count),
            measured=_columns(MEASURED, measured, count),
            expected=_columns(EXPECTED, expected, count),
            features=_columns(FEATURE, features, count),
        )
        _check(tasks)
        return tasks

    @classmethod
    def of(cls, tasks: Tasks | Iterable[Task]) -> Tasks:
        """Turn a list of `Task` into columns; columns pass through."""
        if isinstance(tasks, Tasks):
            return tasks
        rows = list(tasks)
        nan = float("nan")

        def gathered(kind: str) -> dict[str, list[float]]:
            given = [getattr(task, kind) for task in rows]
            names = sorted({name for each in given for name in each})
            return {name: [each.get(name, nan) for each in given] for name in names}

        return cls.build(
            size=[task.size for task in rows],
            compute_intensity=[task.compute_intensity for task in rows],
            memory_required=[task.memory_required for task in rows],
            arrival_time=[task.arrival_time for task in rows],
            task_id=[task.task_id for task in rows],
            duration_estimate=[nan if t.duration_estimate is None else t.duration_estimate for t in rows],
            edges=edges_from_ids([task.task_id for task in rows], [task.dependencies for task in rows]),
            measured=gathered("measured"),
            expected=gathered("expected"),
            features=gathered("features"),
        )

    def __len__(self) -> int:
        return len(self.size)

    def __iter__(self) -> Iterator[Task]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> Task:
        return Task(
            task_id=int(self.task_id[row]),
            size=float(self.size[row]),
            compute_intensity=float(self.compute_intensity[row]),
            memory_required=float(self.memory_required[row]),
            arrival_time=float(self.arrival_time[row]),
            dependencies=tuple(int(i) for i in self.task_id[self.edges.of(row)]) if self.has_edges else (),
            duration_estimate=float(self.duration_estimate[row]),
            measured=_known(self.measured, row),
            expected=_known(self.expected, row),
            features=_known(self.features, row),
        )

    @property
    def has_edges(self) -> bool:
        """Whether any task waits for another."""
        return len(self.edges.parents) > 0

    @cached_property
    def children(self) -> Edges:
        """The edges seen from the parents."""
        return self.edges.turned()

    @cached_property
    def topological(self) -> Ints:
        """Rows in an order in which every parent comes before its children."""
        return topological_order(self.edges, self.task_id)

    @cached_property
    def in_order(self) -> bool:
        """Whether the rows stand in order of arrival."""
        earlier, later, block = self.arrival_time[:-1], self.arrival_time[1:], 65_536
        # In blocks: no large temporary array, and an early answer if they do not.
        return all(np.all(earlier[k : k + block] <= later[k : k + block]) for k in range(0, len(earlier), block))

    def arriving_at(self, arrival_time: npt.ArrayLike) -> Tasks:
        """Return the same tasks with other arrival times."""
        moved = replace(self, arrival_time=_column("arrival_time", arrival_time, len(self)))
        _check(moved)
        return moved

    def part(self, first: int, last: int) -> Tasks:
        """Return independent tasks `first` … `last - 1` as tasks of their own."""
        if self.has_edges:
            raise InputError("tasks with dependencies cannot be cut into parts: simulate them whole")
        return self._taken(slice(first, last))

    def in_order_of(self, rows: Ints) -> Tasks:
        """Return independent tasks as they stand in `rows`, which may leave some out."""
        if self.has_edges:
            raise InputError("tasks with dependencies cannot be put into another order: use them as they stand")
        return self._taken(rows)

    def _taken(self, rows: slice | Ints) -> Tasks:
        def each(columns: Mapping[str, Floats]) -> dict[str, Floats]:
            return {name: column[rows] for name, column in columns.items()}

        return replace(
            self,
            size=self.size[rows],
            compute_intensity=self.compute_intensity[rows],
            memory_required=self.memory_required[rows],
            arrival_time=self.arrival_time[rows],
            task_id=self.task_id[rows],
            duration_estimate=self.duration_estimate[rows],
            edges=no_edges(len(self.size[rows])),
            measured=each(self.measured),
            expected=each(self.expected),
            features=each(self.features),
        )


def edges_from_ids(
    task_ids: Sequence[int],
    dependencies: Sequence[Sequence[int]],
    megabytes: Sequence[Sequence[float]] | None = None,
) -> Edges:
    """Turn lists of parents' ids into edges between rows; an unknown parent is an error that names it."""
    row_of = {task_id: row for row, task_id in enumerate(task_ids)}
    start, parents, weights = [0], [], []
    for row, ids in enumerate(dependencies):
        for position, parent in enumerate(ids):
            if parent not in row_of:
                raise RowError(
                    row,
                    f"task {task_ids[row]} depends on task {parent}, which does not exist: "
                    "add that task or remove the dependency",
                )
            parents.append(row_of[parent])
            weights.append(megabytes[row][position] if megabytes else 0.0)
        start.append(len(parents))
    return Edges(np.array(start, np.int64), np.array(parents, np.int64), np.array(weights, np.float64))


def topological_order(edges: Edges, task_id: Ints) -> Ints:
    """Return rows with parents before children (Kahn); a cycle is an error that names a task on it."""
    count = len(edges.start) - 1
    turned = edges.turned()
    first, children = turned.start.tolist(), turned.parents.tolist()  # lists: the walk takes them one by one
    missing = np.diff(edges.start).tolist()
    order: list[int] = [row for row in range(count) if not missing[row]]
    for row in order:  # grows while it is walked
        for child in children[first[row] : first[row + 1]]:
            missing[child] -= 1
            if not missing[child]:
                order.append(child)
    if len(order) < count:
        stuck, passed = next(row for row in range(count) if missing[row]), set[int]()
        while stuck not in passed:  # back along parents that wait too, until one comes again: it is on the cycle
            passed.add(stuck)
            stuck = int(next(parent for parent in edges.of(stuck) if missing[parent] > 0))
        raise RowError(
            stuck,
            f"dependencies form a cycle through task {task_id[stuck]}: remove one dependency on the cycle",
        )
    return np.array(order, np.int64)


def _column(name: str, values: npt.ArrayLike, count: int | None = None) -> Floats:
    # Writable: pandas hands out read-only columns, for which Numba would compile every loop once more or not at all.
    column = np.require(values, np.float64, ["C", "W"])
    if column.ndim != 1 or (count is not None and len(column) != count):
        raise InputError(f"column '{name}' has shape {column.shape}, expected ({count or 'n'},): one value a task")
    return column


def _columns(prefix: str, given: Mapping[str, npt.ArrayLike] | None, count: int) -> dict[str, Floats]:
    return {name: _column(f"{prefix}{name}", values, count) for name, values in (given or {}).items()}


def _known(columns: Mapping[str, Floats], row: int) -> dict[str, float]:
    return {name: float(column[row]) for name, column in columns.items() if not np.isnan(column[row])}


def _ids(values: npt.ArrayLike, count: int) -> Ints:
    try:
        column = np.asarray(values)
        ids: Ints = np.require(column, np.int64, ["C", "W"])
    except OverflowError:
        raise InputError("a task_id does not fit 64 bits: choose smaller ones") from None
    if column.dtype == object or (count and not np.array_equal(ids, column)):
        raise InputError("column 'task_id' holds something else than whole numbers of 64 bits: correct it")
    if ids.shape != (count,):
        raise InputError(f"column 'task_id' has shape {ids.shape}, expected ({count},): one value a task")
    return ids


def _check(tasks: Tasks) -> None:
    if len(tasks.edges.start) != len(tasks) + 1:
        raise InputError(f"the edges are those of {len(tasks.edges.start) - 1} tasks, expected {len(tasks)}")
    size, intensity = tasks.size, tasks.compute_intensity
    _require("size", size, np.isfinite(size) & (size > 0), "a number above 0")
    _require("compute_intensity", intensity, (intensity >= 0) & (intensity <= 1), "a number from 0 to 1")
    memory, arrival, base = tasks.memory_required, tasks.arrival_time, tasks.duration_estimate
    _require("memory_required", memory, np.isfinite(memory) & (memory >= 0), "megabytes, 0 or more")
    _require("arrival_time", arrival, np.isfinite(arrival) & (arrival >= 0), "seconds, 0 or more")
    _require("duration_estimate", base, np.isfinite(base) & (base > 0), "seconds above 0")
    for name, times in tasks.measured.items():
        _require(f"{MEASURED}{name}", times, np.isnan(times) | (times > 0), "seconds above 0, inf or empty")
    for name, times in tasks.expected.items():
        _require(f"{EXPECTED}{name}", times, np.isnan(times) | (times > 0), "seconds above 0, inf or empty")
    for name, column in tasks.features.items():
        _require(f"{FEATURE}{name}", column, ~np.isinf(column), "a number or empty")
    _check_ids(tasks.task_id)
    if tasks.has_edges:
        _ = tasks.topological  # raises on a cycle


def _require(name: str, column: Floats, good: npt.NDArray[np.bool_], expected: str) -> None:
    if not good.all():
        row = int(np.argmin(good))
        raise RowError(row, f"{name} is {column[row]:g}, expected {expected}: correct or drop this row")


def _check_ids(task_id: Ints) -> None:
    if len(task_id) and bool(np.all(task_id[1:] > task_id[:-1])):
        return
    order = np.argsort(task_id, kind="stable")
    same = np.flatnonzero(np.diff(task_id[order]) == 0)
    if len(same):
        row = int(order[same[0] + 1])
        raise RowError(row, f"task_id {task_id[row]} appears twice: ids must be unique")
