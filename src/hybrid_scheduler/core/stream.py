"""`EndlessStream`: tasks without end for a scheduler that reorders what waits.

Tasks are appended and decided block by block; queues persist. A task that has started is handed out once and then
forgotten, so memory grows with what waits, not with what was. What happens depends on the tasks, not on how they are
cut into blocks.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.clocks import copy_clocks, remap_ends
from hybrid_scheduler.core.cluster import GPU
from hybrid_scheduler.core.compiler import jit_late
from hybrid_scheduler.core.late_binding import FIRST, LAST, build_pool
from hybrid_scheduler.core.loop import (
    InvalidDecision,
    PlacementColumns,
    Queue,
    TaskColumns,
    expect_seconds,
    push,
)
from hybrid_scheduler.core.physics import apply_expected_times, class_times, rejections
from hybrid_scheduler.core.placements import SPILLED, WAITING, Placements
from hybrid_scheduler.core.queues import (
    NONE,
    Block,
    OrderedQueues,
    build_queues,
    enter_queue,
    estimate_ends,
    insert,
)
from hybrid_scheduler.core.simulator import (
    VirtualMultiGPU,
    add_queues,
    bind_ordered_loop,
    build_ordered_clocks,
    build_queue,
    describe_fault,
    hide_times,
    index_devices,
    match_classes,
    watches_devices,
    write_predictions,
)
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks, concatenate_tasks, no_edges
from hybrid_scheduler.core.view import View

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.scheduler import Scheduler

SMALLEST = 512  # rows of a table
NO_ROWS = np.empty(0, np.int64)
_NO_DECISIONS = Queue(NO_ROWS, NO_ROWS, NO_ROWS, np.zeros(1, np.int64))
_TASK_COLUMNS = ("size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate")
_FLOATS = (*_TASK_COLUMNS, "gpu_fraction", "gpu_start", "cpu_start", "ready", "finish")
_UNPLACED = {"gpu": -1, "cpu": -1} | dict.fromkeys(("gpu_fraction", "gpu_start", "cpu_start", "finish"), np.nan)


class Progress(NamedTuple):
    """What has started since the last time."""

    block: Placements  # the tasks that came last; those that wait have the status WAITING
    earlier: Placements | None = None  # tasks of earlier blocks


class EndlessStream:
    """The tasks that wait on a machine, in ordered queues or in the pool from which idle devices pick."""

    def __init__(self, machine: VirtualMultiGPU, scheduler: Scheduler) -> None:
        self._machine, self._scheduler = machine, scheduler
        self._binds_late = not hasattr(type(scheduler), "key")
        self._indexed = bool(getattr(scheduler, "indexes_queues", False))
        self._blind = machine.hides_backlog(scheduler)
        self._has_estimates = self._blind  # once a task carries expected times, the queues stay estimated
        self._clocks = build_ordered_clocks(machine, self._blind)
        self._blocks: list[tuple[int, Tasks]] = []  # first row and tasks of every block in the table
        self._learnt_from: dict[int, Placements] = {}  # by number: blocks that a learner has, with tasks that wait
        self._advances = 0
        self._count, self._decided, self._now = 0, 0, -np.inf
        self._rows = _empty_rows(len(machine.cluster.classes))
        self._pool = build_pool(SMALLEST, len(machine.view.free), 0, spoliates=False, moves_data=False)
        self._queues = build_queues(SMALLEST, 0, has_estimates=False, indexed=self._indexed)
        self._build_queues(machine.view.free if self._blind else np.empty(0))

    @property
    def waiting(self) -> int:
        """How many shares of tasks wait."""
        return len(self._pooled) if self._binds_late else int(self._view.waiting.sum())

    @property
    def _pooled(self) -> Ints:
        """The rows that wait in common."""
        rows: Ints = self._pool.row[self._pool.cursor[FIRST] : self._pool.cursor[LAST]]
        return rows

    # --- placing -----------------------------------------------------------------------------------------------

    def append(self, tasks: Tasks, times: Floats | None = None, ready: float | None = None) -> None:
        """Add independent tasks, which `advance` decides; `ready` stands in for their times of arrival."""
        cluster, count = self._machine.cluster, len(tasks)
        actual = class_times(tasks, cluster) if times is None else times
        expected = self._expect(tasks, actual)
        if self._count + count > len(self._rows["size"]):
            self._compact(count)
        if expected is not actual and not self._has_estimates:
            self._has_estimates = True
            self._build_queues(self._machine.view.free)
        seen = tasks if ready is None else replace(tasks, arrival_time=np.full(count, ready))
        values: dict[str, Any] = {name: getattr(seen, name) for name in _TASK_COLUMNS} | _UNPLACED
        values |= {"ready": seen.arrival_time, "status": rejections(tasks, actual, cluster), "open": True}
        values |= {"expected": expected, "actual": actual, "divisible": tasks.divisible, "learnt_from": NONE}
        for name, value in values.items():
            self._rows[name][self._count : self._count + count] = value
        self._blocks.append((self._count, tasks))
        self._arriving, self._count = seen, self._count + count

    def _expect(self, tasks: Tasks, actual: Floats) -> Floats:
        """Return the times by which queues are estimated; NaN where the scheduler has to predict them."""
        if self._blind:
            return np.full(actual.shape, np.nan)
        return apply_expected_times(tasks, self._machine.cluster, actual)

    def advance(self, count: int) -> Placements:
        """Decide the next `count` of the tasks appended last; return their placements, NaN for what waits.

        A learner may keep them: ends are filled in when tasks start.
        """
        first, last, begin = self._decided, self._decided + count, self._blocks[-1][0]
        tasks, columns = self._arriving.part(first - begin, last - begin), self._task_columns()
        visible = columns.visible[first:last] if len(columns.visible) > 1 else columns.visible
        seen = tasks.without_times() if self._blind else tasks
        planned = self._scheduler.prepare(seen, visible, self._view)
        if self._blind:
            write_predictions(self._scheduler, columns.expected[first:last])
        queue, steps = build_queue(tasks, self._placement_columns(slice(first, last)), planned)
        order = first + (queue.order if len(queue.order) else np.arange(steps))
        self._run(queue._replace(order=order), steps, Block(first, -np.inf))
        self._decided, self._now = last, max(self._now, float(tasks.arrival_time.max(initial=-np.inf)))
        placements, self._advances = self._read(np.arange(first, last), tasks), self._advances + 1
        if self._scheduler.learn_every:
            waiting = self._waits(np.arange(first, last))
            self._rows["learnt_from"][first:last] = np.where(waiting, self._advances, NONE)
            self._rows["place"][first:last] = np.arange(count)
            self._learnt_from[self._advances] = placements
            self._fill_in()
        return placements

    def _fill_in(self) -> None:
        """Write where and when tasks have started into the placements that a learner has of them."""
        rows = np.flatnonzero(self._rows["learnt_from"][: self._count] != NONE)
        started = rows[~self._waits(rows)]
        for row in started.tolist():
            block, place = self._learnt_from[self._rows["learnt_from"][row]], self._rows["place"][row]
            for name in PlacementColumns._fields:
                getattr(block, name)[place] = self._rows[name][row]
        self._rows["learnt_from"][started] = NONE
        awaited = set(self._rows["learnt_from"][rows].tolist())
        self._learnt_from = {number: each for number, each in self._learnt_from.items() if number in awaited}

    def start_until(self, moment: float) -> None:
        """Start what falls due by a moment, though no task arrives."""
        self._run(_NO_DECISIONS, 0, Block(self._count, moment))
        self._now = max(self._now, moment)

    def _run(self, queue: Queue, steps: int, block: Block) -> None:
        # A task that has started was handed out: nobody may abort it.
        work = steps * len(self._view.free)
        run, policy, *pool = bind_ordered_loop(self._scheduler, self._pool, None, aborts=False, work=work)
        state = (self._view, self._clocks, self._placement_columns(), self._queues, block)
        fault = InvalidDecision(*run(policy, self._task_columns(), queue, steps, *state, *pool))
        if fault.row >= 0:
            tasks = self._select(np.array([fault.row]))
            raise describe_fault(self._scheduler, fault._replace(row=0), tasks, self._machine.cluster)

    def collect(self, tasks: Tasks | None = None) -> Progress:
        """Hand out what has started and was not handed out before; `tasks` are those that were appended last."""
        first = self._count - (0 if tasks is None else len(tasks))
        started = self._find_open(waiting=False)
        self._rows["open"][started] = False
        block = self._read(np.arange(first, self._count), tasks, mark_waiting=True)
        return Progress(block, self._read(started[started < first]))

    def outlook(self) -> Placements:
        """Return where and when the tasks that wait would run if no more came.

        Queues are served in their order; what waits in common goes, in order of arrival, where it ends first.
        """
        twin, rows = self.twin(self._scheduler), self._find_open(waiting=True)
        if self._binds_late:
            view, free = twin._view, np.maximum(twin._clocks.free, self._now)
            out = twin._placement_columns()
            _finish_in_order(rows, twin._task_columns(), free, view.memory, view.device_class, view.kind, out)
        elif len(rows):
            twin.start_until(np.inf)
        return twin._read(rows, mark_waiting=True)

    def preview(self, tasks: Tasks, times: Floats) -> Placements:
        """Place tasks on a twin; those that would wait in common are placed as if no more came."""
        self.append(tasks, times)
        placed = self.advance(len(tasks))
        if not self._binds_late:
            return placed
        self.start_until(np.inf)
        return self.collect(tasks).block

    def backlog(self, now: float) -> float:
        """Return the seconds of work in front of the mean device, as far as that is known."""
        if not self._binds_late:
            return float(np.maximum(self._view.free - now, 0.0).mean())
        shortest = self._rows["actual" if self._blind else "expected"][self._pooled].min(axis=1, initial=np.inf)
        return float(np.maximum(self._clocks.free - now, 0.0).mean() + shortest.sum() / len(self._clocks.free))

    # --- devices -----------------------------------------------------------------------------------------------

    def take_back(self, gpus: set[int], now: float) -> Tasks:
        """Remove and return the tasks that have a share on one of these GPUs and wait for it or for another one."""
        rows = self._find_open(waiting=True)
        gpu, begin = self._rows["gpu"][rows], self._rows["gpu_start"][rows]
        seconds = self._rows["gpu_fraction"][rows] * self._rows["actual"][rows, self._view.device_class[gpu]]
        lost = rows[np.isin(gpu, list(gpus)) & ~(begin + seconds <= now)]
        self._rows["open"][lost], self._rows["learnt_from"][lost] = False, NONE
        return self._select(lost)

    def use_machine(self, machine: VirtualMultiGPU) -> None:
        """Continue on a machine whose devices have changed, or on another; devices of the same name keep their work.

        What waits for a device that is gone must have been taken back before.
        """
        places = {device.name: device.index for device in self._machine.cluster.devices}
        sources = np.array([places.get(device.name, NONE) for device in machine.cluster.devices])
        if machine is not self._machine:
            self._compact(0)
            rows, moved = slice(self._count), np.full(len(places) + 1, NONE)  # the last one: no device stays none
            moved[sources[sources >= 0]] = np.flatnonzero(sources >= 0)
            for name in ("gpu", "cpu"):
                self._rows[name][rows] = moved[self._rows[name][rows]]
            tasks, room = self._select(np.arange(self._count)), len(self._rows["size"])
            actual = class_times(tasks, machine.cluster)
            classes = match_classes(machine.cluster, self._machine.cluster)
            self._clocks = remap_ends(self._clocks, machine.view.device_class, classes)
            self._clocks = self._clocks._replace(running=np.zeros((len(sources) * self._blind, 3)))
            self._machine = machine
            for name, times in (("actual", actual), ("expected", self._expect(tasks, actual))):
                self._rows[name] = _resize(times, np.arange(self._count), room)
        known = np.append(self._queues.expected_end, np.nan)[sources if self._has_estimates else []]
        self._machine = machine
        self._build_queues(np.where(np.isnan(known), machine.view.free[: len(known)], known))

    def _build_queues(self, expected_end: Floats) -> None:
        """Let everything that waits enter new queues; keys and estimates stay."""
        keys, devices = self._keys(), len(self._machine.view.free)
        queues = build_queues(len(self._rows["size"]), devices, self._has_estimates, self._indexed)
        queues.expected_end[:] = expected_end
        self._queues = queues = queues._replace(seconds=self._queues.seconds)
        self._clocks = self._clocks._replace(free=self._machine.view.free)
        view = add_queues(self._machine.view, queues, self._has_estimates, self._indexed)
        self._view = view = view._replace(ended=self._clocks.ended)
        self._pool = self._pool._replace(running=np.full(devices, NONE))
        for row in [] if self._binds_late else self._find_open(waiting=True).tolist():
            share = self._rows["gpu_fraction"][row]
            for name, part, entry in (("gpu", share, 2 * row), ("cpu", 1.0 - share, 2 * row + 1)):
                device = int(self._rows[name][row])
                if device >= 0 and np.isnan(self._rows[f"{name}_start"][row]):
                    kind = view.device_class[device]
                    seconds = part * expect_seconds(row, kind, self._task_columns(), self._clocks)
                    view.free[device] += seconds
                    enter_queue(entry, device, float(keys[entry]), seconds, view, queues)
        self._view = index_devices(view, self._scheduler, None if self._has_estimates else self._clocks)
        # One that has been idle was asked when it fell idle.
        watched = (view.free >= self._now) & watches_devices(self._scheduler)
        for device in np.flatnonzero((queues.length > 0) | watched).tolist():
            push(queues.events, queues.size, device, self._clocks.free)

    def _keys(self) -> Floats:
        """Return the keys of what waits in ordered queues, by entry."""
        keys, queues = np.full(2 * len(self._rows["size"]), np.nan), self._queues
        for first, length in zip(queues.first, queues.length, strict=True):
            keys[queues.entry[first : first + length]] = queues.key[first : first + length]
        return keys

    # --- the table ---------------------------------------------------------------------------------------------

    def twin(self, scheduler: Scheduler) -> EndlessStream:
        """Return an independent copy for a copy of the scheduler."""
        other = copy(self)
        other._scheduler, other._machine, other._blocks = scheduler, self._machine.twin(), list(self._blocks)
        other._rows = {name: column.copy() for name, column in self._rows.items()}
        queues: Any = (column.copy() for column in self._queues)
        other._queues = OrderedQueues(*queues)
        pool = self._pool
        other._pool = pool._replace(
            row=pool.row.copy(), cursor=pool.cursor.copy(), now=pool.now.copy(), running=pool.running.copy()
        )
        other._learnt_from = {}
        other._rows["learnt_from"][:] = NONE
        other._clocks = copy_clocks(self._clocks, other._machine.view.free)
        view = _copy_view(self._view, None if self._has_estimates else other._clocks.free)
        other._view = view._replace(waiting=other._queues.length, ended=other._clocks.ended)
        return other

    def view_at(self, now: float) -> View:
        """Return what a scheduler sees of the devices when a task arrives; starts what falls due before."""
        self.start_until(float(np.nextafter(now, -np.inf)))
        if self._has_estimates:
            estimate_ends(now, self._view, self._clocks, self._queues)
        return _copy_view(self._view)

    def _find_open(self, waiting: bool) -> Ints:
        """Return the rows that were not handed out yet and wait, wholly or in part, or do not."""
        rows = np.flatnonzero(self._rows["open"][: self._count])
        found: Ints = rows[self._waits(rows) == waiting]
        return found

    def _waits(self, rows: Ints) -> npt.NDArray[np.bool_]:
        gpu, cpu, gpu_start, cpu_start, status = (
            self._rows[name][rows] for name in ("gpu", "cpu", "gpu_start", "cpu_start", "status")
        )
        missing = (gpu >= 0) & np.isnan(gpu_start) | (cpu >= 0) & np.isnan(cpu_start) | (gpu < 0) & (cpu < 0)
        waits: npt.NDArray[np.bool_] = missing & (status <= SPILLED)
        return waits

    def _read(self, rows: Ints, tasks: Tasks | None = None, mark_waiting: bool = False) -> Placements:
        columns: dict[str, Any] = {name: self._rows[name][rows] for name in PlacementColumns._fields}
        if mark_waiting:
            waits = self._waits(rows)
            columns["status"][waits], columns["finish"][waits] = WAITING, np.nan
        times, tasks = self._rows["actual"][rows], self._select(rows) if tasks is None else tasks
        return Placements(tasks=tasks, cluster=self._machine.cluster, times=times, **columns)

    def _select(self, rows: Ints) -> Tasks:
        """Return the tasks of some rows, in order of arrival."""
        firsts = np.array([first for first, _ in self._blocks])
        places = np.searchsorted(firsts, rows, side="right") - 1
        used = np.unique(places).tolist() or [-1]
        return concatenate_tasks([self._blocks[each][1].select(rows[places == each] - firsts[each]) for each in used])

    def _compact(self, more: int) -> None:
        """Forget what was handed out, and make room for more tasks; the sums that queues keep are not touched."""
        rows = np.flatnonzero(self._rows["open"][: self._count])
        count, old, room = len(rows), len(self._rows["size"]), max(SMALLEST, 2 * (len(rows) + more))
        moved = np.full(2 * old + 1, NONE)  # the new number of every entry; the last one: none stays none
        for part in range(2):
            moved[2 * rows + part] = 2 * np.arange(count) + part
        entries = (2 * rows[:, None] + np.arange(2)).ravel()
        pooled = moved[2 * self._pooled] // 2
        running = moved[2 * self._pool.running] // 2  # what was handed out is not known any more
        self._pool = self._pool._replace(row=_resize(pooled, slice(None), room), running=running)
        self._pool.cursor[FIRST], self._pool.cursor[LAST] = 0, len(pooled)
        self._blocks = [(0, self._select(rows))] if self._blocks else []
        self._rows = {name: _resize(column, rows, room) for name, column in self._rows.items()}
        self._count = self._decided = count
        self._queues = self._renumber_entries(moved, entries, room)
        self._view = self._view._replace(waiting=self._queues.length)

    def _renumber_entries(self, moved: Ints, entries: Ints, room: int) -> OrderedQueues:
        """Return the queues with room for so many tasks; `entries` are kept, and `moved` gives their new numbers."""
        old, devices = self._queues, len(self._queues.length)
        queues = build_queues(room, devices, self._has_estimates, self._indexed)
        for device, (first, length) in enumerate(zip(old.first, old.length, strict=True)):
            for place in range(first, first + length):
                insert(queues, device, float(old.key[place]), int(moved[old.entry[place]]))
        queues.seconds[: len(entries) * self._indexed] = old.seconds[entries] if self._indexed else 0.0
        kept = ("events", "size", "backlog", "expected_end")
        return queues._replace(**{name: getattr(old, name) for name in kept})

    def _task_columns(self) -> TaskColumns:
        expected, edges = self._rows["expected"], no_edges(0)
        visible = expected if self._scheduler.clairvoyant else hide_times(self._rows["actual"], self._scheduler)
        graph = (edges.start, edges.parents, edges.megabytes, edges.start, edges.parents)
        columns: Any = (
            *(self._rows[name] for name in _TASK_COLUMNS[:-1]),
            np.full(1, np.nan) if self._blind else self._rows[_TASK_COLUMNS[-1]],
            *graph,
            visible,
            expected,
            self._rows["actual"],
            self._rows["divisible"],
        )
        return TaskColumns(*columns)

    def _placement_columns(self, rows: slice = slice(None)) -> PlacementColumns:
        columns: Any = (self._rows[name][rows] for name in PlacementColumns._fields)
        return PlacementColumns(*columns)


def _empty_rows(classes: int) -> dict[str, npt.NDArray[Any]]:
    rows: dict[str, npt.NDArray[Any]] = {name: np.zeros(SMALLEST) for name in _FLOATS}
    rows |= {name: np.zeros((SMALLEST, classes)) for name in ("expected", "actual")}
    rows |= {name: np.zeros(SMALLEST, np.int32) for name in ("gpu", "cpu")}
    rows |= {"learnt_from": np.full(SMALLEST, NONE), "place": np.zeros(SMALLEST, np.int64)}
    rows |= {name: np.zeros(SMALLEST, np.bool_) for name in ("open", "divisible")}
    return rows | {"status": np.zeros(SMALLEST, np.uint8)}


def _resize(column: npt.NDArray[Any], rows: Ints | slice, room: int) -> npt.NDArray[Any]:
    """Return a column that begins with some rows of another and has room for more."""
    kept = column[rows]
    larger = np.zeros((room, *column.shape[1:]), column.dtype)
    larger[: len(kept)] = kept
    return larger


def _copy_view(view: View, running_end: Floats | None = None) -> View:
    own = {name: getattr(view, name).copy() for name in ("free", "waiting", "queue_count", "queue_work")}
    index = view.device_index and view.device_index._replace(least=view.device_index.least.copy())
    end = view.running_end.copy() if running_end is None else running_end
    return view._replace(running_end=end, device_index=index, **own)


@jit_late
def _finish_in_order(
    rows: Ints,
    tasks: TaskColumns,
    free: Floats,
    memory: Floats,
    device_class: Ints,
    kind: Ints,
    out: PlacementColumns,
) -> None:
    """Run whole tasks one after another where each ends first; what fits nowhere stays as it is."""
    for row in rows:
        best, least = -1, np.inf
        for device in range(len(free)):
            end = free[device] + tasks.actual[row, device_class[device]]
            if tasks.memory_required[row] <= memory[device] and end < least:
                best, least = device, end
        if best < 0:
            continue
        if kind[best] == GPU:
            out.gpu_fraction[row], out.gpu[row], out.gpu_start[row] = 1.0, best, free[best]
        else:
            out.gpu_fraction[row], out.cpu[row], out.cpu_start[row] = 0.0, best, free[best]
        out.finish[row] = free[best] = least
