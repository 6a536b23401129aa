"""Tasks and their dependencies: `Task` is one record, `Tasks` many as columns, validated when built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.errors import InputError, RowError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DURATION_SCALE = 1e-6
"""Seconds per unit of N^1.5: `k` of the base duration."""
DURATION_EXPONENT = 1.5
MAX_SECONDS = 1e15  # of a time or a duration; sums of millions of them, and their squares, stay finite
MAX_SIZE, MAX_MEMORY = 1e12, 1e15  # problem size N; MB
MEASURED, EXPECTED, FEATURE = "time_", "expected_", "feature_"
"""Prefixes of file columns that hold measured times, expected times and custom features."""
INDIVISIBLE, SERIALISED = "indivisible", "serialised"
TRAITS = {
    INDIVISIBLE: (0.0, 1.0, "0, 1 (the task is never split) or empty"),
    SERIALISED: (1.0, np.inf, "the processors whose work one device does, 1 or more, or empty"),
}
"""What may be said of single tasks: the least value, the largest, and what is expected."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task: work of a given size and memory that arrives at a point in time.

    `measured` maps device classes to seconds of the whole task, `expected` to the estimates that schedulers see
    where these differ. `features` are further numbers known before the task runs, `traits` those of `TRAITS`.
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
    traits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Edges:
    """The dependency graph in compressed sparse rows: row i depends on `parents[start[i]:start[i + 1]]`."""

    start: Ints
    parents: Ints
    megabytes: Floats

    def neighbours(self, row: int) -> Ints:
        """Return the rows that `row` points to: its parents or, in the transposed graph, its children."""
        return self.parents[self.start[row] : self.start[row + 1]]

    @property
    def child(self) -> Ints:
        """The dependent row of every edge."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def transpose(self) -> Edges:
        """Return the edges reversed, listed by parent."""
        order = np.argsort(self.parents, kind="stable")
        counts = np.bincount(self.parents, minlength=len(self.start) - 1)
        start = np.concatenate([[0], np.cumsum(counts)])
        return Edges(start.astype(np.int64), self.child[order], self.megabytes[order])


def no_edges(count: int) -> Edges:
    """Return the empty graph over `count` independent tasks."""
    return Edges(np.zeros(count + 1, np.int64), np.empty(0, np.int64), np.empty(0))


def base_duration(
    size: Floats, intensity: Floats, scale: float = DURATION_SCALE, exponent: float = DURATION_EXPONENT
) -> Floats:
    """Return k·N^1.5/(I + 0.5) in seconds; a calibrated machine has its own `scale` k and `exponent`."""
    with np.errstate(all="ignore"):  # invalid values are reported by the validation of the columns
        if exponent == DURATION_EXPONENT:  # N·√N is faster than a power, and stored runs hold exactly these bits
            base: Floats = scale * size * np.sqrt(size) / (intensity + 0.5)
        else:
            base = scale * size**exponent / (intensity + 0.5)
    return base


@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks as columns, one row per task, in any order of arrival.

    `measured` holds actual seconds by device class, `expected` the estimates shown to schedulers instead, and
    `features` custom columns for models to learn from, `traits` those of `TRAITS`. NaN means "not given".
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
    traits: Mapping[str, Floats] = field(default_factory=dict)

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
        traits: Mapping[str, npt.ArrayLike] | None = None,
    ) -> Tasks:
        """Validate the columns and build tasks; missing or NaN duration estimates follow `base_duration`."""
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
            traits=_columns("", traits, count),
        )
        _check(tasks)
        return tasks

    @classmethod
    def from_iterable(cls, tasks: Tasks | Iterable[Task]) -> Tasks:
        """Turn `Task` records into columns; columns pass through."""
        if isinstance(tasks, Tasks):
            return tasks
        rows = list(tasks)
        nan = float("nan")

        def collect(group: str) -> dict[str, list[float]]:
            given = [getattr(task, group) for task in rows]
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
            measured=collect("measured"),
            expected=collect("expected"),
            features=collect("features"),
            traits=collect("traits"),
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
            dependencies=tuple(self.task_id[self.edges.neighbours(row)].tolist()),
            duration_estimate=float(self.duration_estimate[row]),
            measured=_drop_nan(self.measured, row),
            expected=_drop_nan(self.expected, row),
            features=_drop_nan(self.features, row),
            traits=_drop_nan(self.traits, row),
        )

    @property
    def divisible(self) -> npt.NDArray[np.bool_]:
        """Whether each task may be split; one entry for all if every one may."""
        marked = self.traits.get(INDIVISIBLE)
        return np.ones(1, np.bool_) if marked is None else ~(marked == 1.0)

    @property
    def serialised(self) -> int:
        """How many tasks stand for work of several processors that one device does instead."""
        return int(np.count_nonzero(self.traits.get(SERIALISED, np.empty(0)) > 1.0))

    @property
    def has_edges(self) -> bool:
        """Whether any task depends on another."""
        return len(self.edges.parents) > 0

    @cached_property
    def most_memory(self) -> float:
        """The memory that the largest task requires."""
        return float(self.memory_required.max(initial=0.0))

    @cached_property
    def children(self) -> Edges:
        """The edges listed by parent."""
        return self.edges.transpose()

    @cached_property
    def topological(self) -> Ints:
        """Rows in an order in which every parent comes before its children."""
        return topological_order(self.edges, self.task_id)

    @cached_property
    def in_order(self) -> bool:
        """Whether the rows are sorted by arrival."""
        earlier, later, block = self.arrival_time[:-1], self.arrival_time[1:], 65_536
        # Block by block: no large temporary array, and an early exit if they are not.
        return all(np.all(earlier[k : k + block] <= later[k : k + block]) for k in range(0, len(earlier), block))

    def without_times(self) -> Tasks:
        """Return the tasks as they are known before they run to who does not know how long they take."""
        hidden = copy(self)  # with all that is known of the graph
        unknown = np.broadcast_to(np.nan, len(self))  # one number, however many the tasks
        hidden.__dict__.update(measured={}, expected={}, duration_estimate=unknown)
        return hidden

    def with_arrival_times(self, arrival_time: npt.ArrayLike) -> Tasks:
        """Return the same tasks with other arrival times."""
        tasks = replace(self, arrival_time=_column("arrival_time", arrival_time, len(self)))
        _check(tasks)
        return tasks

    def part(self, first: int, last: int) -> Tasks:
        """Return the independent tasks in rows `first` … `last - 1`."""
        if self.has_edges:
            raise InputError("tasks with dependencies cannot be cut into parts: simulate them whole")
        return self._take(slice(first, last))

    def select(self, rows: Ints | npt.NDArray[np.bool_]) -> Tasks:
        """Return the independent tasks in `rows`, in that order."""
        if self.has_edges:
            raise InputError("tasks with dependencies cannot be put into another order: use them as they stand")
        return self._take(rows)

    def _take(self, rows: slice | Ints | npt.NDArray[np.bool_]) -> Tasks:
        taken: dict[str, Any] = {"edges": no_edges(len(self.size[rows]))}
        for each in fields(self):
            column = getattr(self, each.name)
            if isinstance(column, Mapping):
                taken[each.name] = {name: values[rows] for name, values in column.items()}
            elif not isinstance(column, Edges):
                taken[each.name] = column[rows]
        return Tasks(**taken)


def concatenate_tasks(parts: Sequence[Tasks]) -> Tasks:
    """Return independent tasks one after another; what only some of them carry is NaN for the others."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {"edges": no_edges(sum(map(len, parts)))}
    for each in fields(Tasks):
        columns = [getattr(part, each.name) for part in parts]
        if isinstance(columns[0], Mapping):
            nothing = [np.full(len(part), np.nan) for part in parts]
            pairs = list(zip(columns, nothing, strict=True))
            names = dict.fromkeys(name for group in columns for name in group)
            joined[each.name] = {
                name: np.concatenate([group.get(name, none) for group, none in pairs]) for name in names
            }
        elif each.name != "edges":
            joined[each.name] = np.concatenate(columns)
    return Tasks(**joined)


def edges_from_ids(
    task_ids: Sequence[int],
    dependencies: Sequence[Sequence[int]],
    megabytes: Sequence[Sequence[float]] | None = None,
) -> Edges:
    """Build the edges from lists of parents' ids, each with the megabytes that it passes on."""
    row_by_id = {task_id: row for row, task_id in enumerate(task_ids)}
    start, parents, weights = [0], [], []
    for row, ids in enumerate(dependencies):
        for position, parent in enumerate(ids):
            if parent not in row_by_id:
                raise RowError(
                    row,
                    f"task {task_ids[row]} depends on task {parent}, which does not exist: "
                    "add that task or remove the dependency",
                )
            parents.append(row_by_id[parent])
            weights.append(megabytes[row][position] if megabytes else 0.0)
        start.append(len(parents))
    return Edges(np.array(start, np.int64), np.array(parents, np.int64), np.array(weights, np.float64))


def topological_order(edges: Edges, task_id: Ints) -> Ints:
    """Return rows with parents before children (Kahn); a cycle is an error that names a task on it."""
    count = len(edges.start) - 1
    reverse = edges.transpose()
    first, children = reverse.start.tolist(), reverse.parents.tolist()  # lists are faster to index one by one
    missing = np.diff(edges.start).tolist()
    order: list[int] = [row for row in range(count) if not missing[row]]
    for row in order:  # grows during the iteration
        for child in children[first[row] : first[row + 1]]:
            missing[child] -= 1
            if not missing[child]:
                order.append(child)
    if len(order) < count:
        stuck, visited = next(row for row in range(count) if missing[row]), set[int]()
        while stuck not in visited:  # follow unordered parents until one repeats: that one is on the cycle
            visited.add(stuck)
            stuck = int(next(parent for parent in edges.neighbours(stuck) if missing[parent] > 0))
        raise RowError(
            stuck,
            f"dependencies form a cycle through task {task_id[stuck]}: remove one dependency on the cycle",
        )
    return np.array(order, np.int64)


def _column(name: str, values: npt.ArrayLike, count: int | None = None) -> Floats:
    # Writable: pandas returns read-only columns, for which Numba would compile every loop again or not at all.
    column = np.require(values, np.float64, ["C", "W"])
    if column.ndim != 1 or (count is not None and len(column) != count):
        raise InputError(f"column '{name}' has shape {column.shape}, expected ({count or 'n'},): one value a task")
    return column


def _columns(prefix: str, given: Mapping[str, npt.ArrayLike] | None, count: int) -> dict[str, Floats]:
    return {name: _column(f"{prefix}{name}", values, count) for name, values in (given or {}).items()}


def _drop_nan(columns: Mapping[str, Floats], row: int) -> dict[str, float]:
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
    _require("size", size, (size > 0) & (size <= MAX_SIZE), f"a number above 0, at most {MAX_SIZE:g}")
    _require("compute_intensity", intensity, (intensity >= 0) & (intensity <= 1), "a number from 0 to 1")
    memory, arrival, base = tasks.memory_required, tasks.arrival_time, tasks.duration_estimate
    most = f"at most {MAX_SECONDS:g}"
    _require("memory_required", memory, (memory >= 0) & (memory <= MAX_MEMORY), "megabytes, 0 or more")
    _require("arrival_time", arrival, (arrival >= 0) & (arrival <= MAX_SECONDS), f"seconds, 0 or more, {most}")
    _require("duration_estimate", base, (base > 0) & (base <= MAX_SECONDS), f"seconds above 0, {most}")
    for prefix, columns in ((MEASURED, tasks.measured), (EXPECTED, tasks.expected)):
        for name, times in columns.items():
            good = np.isnan(times) | ((times > 0) & ((times <= MAX_SECONDS) | np.isposinf(times)))
            _require(f"{prefix}{name}", times, good, f"seconds above 0, {most}, inf or empty")
    for name, column in tasks.features.items():
        _require(f"{FEATURE}{name}", column, ~np.isinf(column), "a number or empty")
    for name, column in tasks.traits.items():
        low, high, expected = TRAITS[name]
        _require(name, column, np.isnan(column) | ((column >= low) & (column <= high)), expected)
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
