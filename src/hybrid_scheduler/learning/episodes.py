"""Many episodes at once: workloads on their way through the simulator's own functions, stepped in one compiled call.

An episode is a workload of a pool that was drawn beforehand; when one ends, its place goes on with another one of the
pool, chosen by that place's own random numbers. Time passes in `place` of `core/loop.py` (dispatch) and in
`simulate_late_binding` (late binding), as in any simulation: the same actions give the same times.

Workloads may have different clusters. Rows, devices and classes are padded to the largest of them; what is no device
holds no task (its memory is -1), and the mask says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.bounds.makespan import available_times
from hybrid_scheduler.core.clocks import Clocks
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import compile_loop, inline, interpret_loop, jitable, no_inline
from hybrid_scheduler.core.late_binding import (
    FIRST,
    LAST,
    PAUSE,
    Pool,
    Waiting,
    find_idle,
    runs_fastest,
    simulate_late_binding,
)
from hybrid_scheduler.core.loop import PlacementColumns, Queue, TaskColumns, place
from hybrid_scheduler.core.physics import class_times, rejections
from hybrid_scheduler.core.placements import RAN, Aborts
from hybrid_scheduler.core.queues import NONE, Block, OrderedQueues
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.core.view import View, build_view
from hybrid_scheduler.errors import InputError, check_number

Workload = tuple[Tasks, Cluster]
Actions = npt.NDArray[np.int64]
MAX_ENTRY = 10.0
"""Largest entry of an observation."""
MAX_COST = 50.0
"""In mean tasks: one terrible decision must not drown all others."""
TASK_ENTRIES, DEVICE_ENTRIES = 6, 3
"""Of an observation with late binding: per waiting task and per device."""
GOLDEN = 0x9E3779B97F4A7C15


class Columns(NamedTuple):
    """A pool of workloads: by workload, then by row, device or class."""

    count: Ints  # type: ignore[assignment]  # a column: nobody counts in this tuple
    size: Floats
    intensity: Floats
    need: Floats
    arrival: Floats
    seconds: Floats  # by class
    typical: Floats  # one figure per workload: mean of the tasks' shortest seconds
    kind: Ints
    device_class: Ints
    node: Ints
    memory: Floats
    bandwidth: Floats
    watts: Floats
    dollars: Floats
    first_cpu: Ints
    cpu_count: Ints


def stack_workloads(workloads: Sequence[Workload]) -> Columns:
    """Return workloads as padded columns, without the tasks that no device of their cluster can hold."""
    if not workloads:
        raise InputError("no workload to draw episodes from: give at least one")
    return Columns(*(_pad(parts) for parts in zip(*map(_take_columns, workloads), strict=True)))


def _take_columns(workload: Workload) -> tuple[Any, ...]:
    tasks, cluster = workload
    if tasks.has_edges or not tasks.in_order:
        raise InputError("an episode takes independent tasks in order of arrival: sort them, drop dependencies")
    seconds = class_times(tasks, cluster)
    runs = rejections(tasks, seconds, cluster) == RAN
    if not runs.any():
        raise InputError("no task of this workload fits the cluster: there is nothing to decide")
    typical = available_times(tasks, cluster, seconds)[runs].min(axis=1).mean()
    view = build_view(cluster)
    rows = (tasks.size, tasks.compute_intensity, tasks.memory_required, tasks.arrival_time, seconds)
    devices = (view.kind, view.device_class, view.node, view.memory, view.bandwidth, view.watts, view.dollars)
    cpus = (view.first_cpu, view.cpu_count)
    return np.int64(runs.sum()), *(each[runs] for each in rows), np.float64(typical), *devices, *cpus


def _pad(parts: Sequence[Any]) -> Any:
    """Return arrays of different lengths as one; what is added is a device without memory, or never ends."""
    first = np.asarray(parts[0])
    if not first.ndim:
        return np.array(parts)
    shape = np.max([each.shape for each in parts], axis=0)
    filled = -1.0 if first.dtype.kind == "f" and first.ndim == 1 else np.inf if first.ndim == 2 else 0
    out = np.full((len(parts), *shape), filled, first.dtype)
    for number, each in enumerate(parts):
        corner: Any = (number, *map(slice, each.shape))
        out[corner] = each
    return out


class Episodes:
    """`number` episodes side by side, each deciding where its next task goes (dispatch).

    The cost of a decision is (turnaround + energy · joules + cost · dollars) of its task over the workload's typical
    seconds; the reward is minus that. Observations, masks, rewards and ends are written into the same arrays by every
    step: copy what has to last.
    """

    _loop = staticmethod(lambda: step_dispatch)
    _worst = MAX_COST

    def __init__(
        self,
        workloads: Sequence[Workload],
        number: int,
        *,
        scale: float,
        turnaround: float = 1.0,
        energy: float = 0.0,
        cost: float = 0.0,
        window: int = 0,
        yields: bool = False,
        accrues: bool = False,
    ) -> None:
        check_number("number of episodes", number, 1, 10**6, whole=True)
        for name, weight in (("turnaround", turnaround), ("energy", energy), ("cost", cost)):
            check_number(f"weight of {name}", weight, 0, 1e9)
        pool = stack_workloads(workloads)
        for name, column in pool._asdict().items():
            setattr(self, name, column)
        rows, devices, classes = pool.size.shape[1], pool.kind.shape[1], pool.seconds.shape[2]
        self.scale, self.worst = float(scale), float(self._worst)
        self.per_second, self.per_joule, self.per_dollar = float(turnaround), float(energy), float(cost)
        self.number, self.rows, self.devices, self.classes, self.window = number, rows, devices, classes, window
        self.episode, self.row, self.draws = np.zeros((3, number), np.int64)
        self.random = np.zeros(number, np.uint64)
        self.free = np.zeros((number, devices))
        self.fraction, self.gpu_start, self.cpu_start, self.finish = np.zeros((4, number, rows))
        self.gpu, self.cpu = np.zeros((2, number, rows), np.int32)
        self.status = np.zeros((number, rows), np.uint8)
        self.none, self.nothing, self.all_divisible = np.empty(0), np.empty(0, np.int64), np.ones(1, np.bool_)
        self.no_table, self.no_rows = np.empty((0, 0)), np.empty((0, 0), np.int64)
        self.no_spans, self.no_size = np.empty((0, 4)), np.zeros(1, np.int64)
        self.reward, self.ended = np.zeros(number), np.zeros(number, np.bool_)
        self.length, self.total = np.zeros(number, np.int64), np.zeros(number)  # of the episodes at hand
        self.last_length, self.last_return = np.zeros(number, np.int64), np.zeros(number)  # of those that ended last
        self.yields, self.idle = bool(yields), np.zeros((number, classes))
        self.accrues, self.waited = bool(accrues), np.zeros(number)
        self._allocate()
        self._run, self._state = compile_loop(self._loop(), {}, self)
        self.seed(0)

    def _allocate(self) -> None:
        self.seen = np.zeros((self.number, 3 + 2 * self.devices), np.float32)
        self.mask = np.zeros((self.number, self.devices), np.bool_)

    def seed(self, seed: int) -> None:
        """Begin anew: every place takes its first episode by random numbers of its own."""
        self.random[:] = np.random.SeedSequence(seed).generate_state(self.number, np.uint64)
        self.draws[:] = 0
        self._run(self._state, np.full(self.number, -1))

    def step(self, actions: Actions) -> None:
        """Decide once in every episode; places whose episode ends go on with their next one."""
        self._run(self._state, actions)


class PickingEpisodes(Episodes):
    """Episodes with late binding: each asks what an idle device takes of the oldest `window` tasks that wait.

    With `yields` a device leaves a task to a faster one that is idle too, and is not asked if that leaves it none.
    With `accrues` waiting is charged while it lasts, not when a task is taken: the return is the same, but putting
    work off costs at once.
    """

    _loop = staticmethod(lambda: step_picking)
    _worst = np.inf

    def __init__(self, workloads: Sequence[Workload], number: int, *, window: int = 16, **options: Any) -> None:
        check_number("window", window, 1, 10**6, whole=True)
        super().__init__(workloads, number, window=window, **options)

    def _allocate(self) -> None:
        number, window, devices = self.number, self.window, self.devices
        self.waiting_row = np.zeros((number, self.rows), np.int64)
        self.cursor, self.now = np.zeros((number, 5), np.int64), np.zeros((number, 1))
        self.running, self.events = np.zeros((2, number, devices), np.int64)
        self.event_count, self.answer, self.asking = np.zeros((3, number, 1), np.int64)
        self.seen = np.zeros((number, DEVICE_ENTRIES * devices + TASK_ENTRIES * window), np.float32)
        self.mask = np.zeros((number, window + 1), np.bool_)


# --- compiled ------------------------------------------------------------------------------------------------------


@jitable
def draw_episode(state: Any, place_: int) -> int:
    """Return the next workload of a place: a hash of its seed and of how many it has had (SplitMix64)."""
    state.draws[place_] += 1
    mixed = state.random[place_] + np.uint64(state.draws[place_]) * np.uint64(GOLDEN)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((mixed ^ (mixed >> np.uint64(31))) % np.uint64(len(state.count)))


@inline
def task_columns(state: Any, pool: int) -> TaskColumns:
    """Return the tasks of a workload as the simulator reads them."""
    none, nothing = state.none, state.nothing
    seconds = state.seconds[pool]
    return TaskColumns(
        state.size[pool], state.intensity[pool], state.need[pool], state.arrival[pool], none,
        nothing, nothing, none, nothing, nothing, seconds, seconds, seconds, state.all_divisible,
    )  # fmt: skip


@inline
def placement_columns(state: Any, place_: int, pool: int) -> PlacementColumns:
    """Return where the simulator writes what becomes of an episode's tasks."""
    return PlacementColumns(
        state.fraction[place_], state.gpu[place_], state.cpu[place_], state.gpu_start[place_],
        state.cpu_start[place_], state.arrival[pool], state.finish[place_], state.status[place_],
    )  # fmt: skip


@inline
def view_devices(state: Any, place_: int, pool: int) -> View:
    """Return the devices of an episode as a scheduler sees them."""
    return View(
        state.free[place_], state.none, state.kind[pool], state.device_class[pool], state.node[pool],
        state.memory[pool], state.bandwidth[pool], state.watts[pool], state.dollars[pool], state.nothing,
        state.first_cpu[pool], state.cpu_count[pool], 1.0, True, state.free[place_], state.nothing,
        state.no_rows, state.no_table, None, state.no_spans, state.no_spans, state.no_spans,
    )  # fmt: skip


@inline
def clocks_of(state: Any, place_: int) -> Clocks:
    """Return the clocks of an episode's devices, which are exact."""
    return Clocks(state.free[place_], None, state.no_spans, state.no_spans, state.nothing)


@jitable
def charge(state: Any, place_: int, pool: int, row: int) -> float:
    """Return what a placed task has cost, in units of the workload's typical seconds."""
    device = max(state.gpu[place_, row], state.cpu[place_, row])
    seconds = state.seconds[pool, row, state.device_class[pool, device]]
    turnaround = state.finish[place_, row] - state.arrival[pool, row]
    rate = state.per_joule * state.watts[pool, device] + state.per_dollar * state.dollars[pool, device]
    return min((state.per_second * turnaround + rate * seconds) / state.typical[pool], state.worst)


@jitable
def note_reward(state: Any, place_: int, reward: float, over: bool) -> None:
    """Write the reward of a decision, and return and length of an episode that is over."""
    state.reward[place_], state.ended[place_] = reward, over
    state.total[place_] += reward
    state.length[place_] += 1
    if over:
        state.last_return[place_], state.last_length[place_] = state.total[place_], state.length[place_]


@jitable
def begin_episode(state: Any, place_: int) -> None:
    """Take the next workload with all devices free."""
    state.episode[place_] = draw_episode(state, place_)
    state.row[place_] = 0
    state.total[place_], state.length[place_] = 0.0, 0
    state.free[place_, :] = 0.0


@jitable
def scale_seconds(seconds: float, scale: float) -> float:
    """Return seconds on the scale of observations."""
    return min(math.log1p(seconds / scale) / 5.0, MAX_ENTRY)


def step_dispatch(state: Any, actions: Actions) -> None:
    """Place the task at hand of every episode, or begin all of them where the action is below 0; observe the next."""
    for place_ in range(len(state.episode)):
        pool, action = state.episode[place_], actions[place_]
        if action >= 0:
            row = state.row[place_]
            view, out = view_devices(state, place_, pool), placement_columns(state, place_, pool)
            share = float(state.kind[pool, action])
            place(row, share, action, task_columns(state, pool), view, clocks_of(state, place_), out)
            state.row[place_] += 1
            over = state.row[place_] == state.count[pool]
            note_reward(state, place_, -charge(state, place_, pool, row), over)
        if action < 0 or state.ended[place_]:
            begin_episode(state, place_)
            pool = state.episode[place_]
        observe_dispatch(state, place_, pool, state.row[place_])


@jitable
def observe_dispatch(state: Any, place_: int, pool: int, row: int) -> None:
    """Write what is seen of the next task and of the queues, and where the task fits."""
    seen, now = state.seen[place_], state.arrival[pool, row]
    seen[0] = min(state.size[pool, row] / 10000.0, MAX_ENTRY)
    seen[1] = min(state.intensity[pool, row], MAX_ENTRY)
    seen[2] = min(state.need[pool, row] / 5000.0, MAX_ENTRY)
    for device in range(state.kind.shape[1]):
        seen[3 + 2 * device] = scale_seconds(max(state.free[place_, device] - now, 0.0), state.scale)
        seen[4 + 2 * device] = state.kind[pool, device]
        state.mask[place_, device] = state.need[pool, row] <= state.memory[pool, device]


class Asking(NamedTuple):
    """What stands for a scheduler in the loop of late binding: the answer to the last question, and who asks now."""

    answer: Ints  # one entry; PAUSE: none yet
    device: Ints  # one entry
    window: int
    seconds: Floats
    idle: Floats  # by class: the largest memory of a device that is idle; -1 where none counts
    yields: bool


@no_inline
def answer_or_pause(asking: Asking, waiting: Waiting, device: int, view: View) -> int:
    """Give the answer that was set, or stop at the question if the device can run any of the oldest tasks."""
    answer = asking.answer[0]
    asking.answer[0] = PAUSE
    if answer != PAUSE:
        return answer
    if asking.yields:
        find_idle(waiting, view, asking.idle)
    for position in range(min(waiting.length, asking.window)):
        row = waiting.row[position]
        if runs_fastest(asking.seconds[row], waiting.memory_required[row], device, view, asking.idle):
            asking.device[0] = device
            return PAUSE
    return NONE


advance_picking = no_inline(interpret_loop(simulate_late_binding, {"select": answer_or_pause}))


def step_picking(state: Any, actions: Actions) -> None:
    """Answer the question of every episode, or begin all of them where the action is below 0; go on to the next."""
    for place_ in range(len(state.episode)):
        pool, begins, row = state.episode[place_], actions[place_] < 0, NONE
        if not begins:
            position = choose_position(state, place_, actions[place_])
            state.answer[place_, 0] = position
            if position >= 0:
                row = state.waiting_row[place_, state.cursor[place_, FIRST] + position]
        while True:  # at most twice: once more if the episode has ended
            if begins:
                begin_episode(state, place_)
                pool = state.episode[place_]
                state.cursor[place_, :], state.running[place_, :] = 0, NONE
                state.event_count[place_, 0], state.answer[place_, 0], state.idle[place_, :] = 0, PAUSE, -1.0
            asks = go_on(state, place_, pool)
            waited = sum_waiting(state, place_, pool) if state.accrues and asks else 0.0
            if not begins:
                reward = -charge(state, place_, pool, row) if row >= 0 else 0.0
                note_reward(
                    state, place_, reward + (0.0 if not state.accrues else state.waited[place_] - waited), not asks
                )
            state.waited[place_] = waited
            if asks or begins:
                break
            begins = True
        observe_picking(state, place_, pool)


@jitable
def sum_waiting(state: Any, place_: int, pool: int) -> float:
    """Return what the tasks that wait have cost so far, in units of the workload's typical seconds."""
    seconds = 0.0
    for position in range(state.cursor[place_, FIRST], state.cursor[place_, LAST]):
        seconds += state.now[place_, 0] - state.arrival[pool, state.waiting_row[place_, position]]
    return state.per_second * seconds / state.typical[pool]


@jitable
def choose_position(state: Any, place_: int, action: int) -> int:
    """Return the position that an action names, or -1 for none; what the mask forbids takes the oldest that fits."""
    if not state.mask[place_, action]:
        action = 0
        while not state.mask[place_, action]:
            action += 1
    return action if action < state.window else NONE


@jitable
def go_on(state: Any, place_: int, pool: int) -> bool:
    """Let time pass until a device asks; whether one does."""
    none, nothing, length = state.none, state.nothing, state.no_size
    queues = OrderedQueues(
        nothing, nothing, nothing, nothing, none, nothing, none, state.events[place_], state.event_count[place_],
        none, none,
    )  # fmt: skip
    aborts = Aborts(length, nothing, nothing, none, none)
    waiting = Pool(
        state.waiting_row[place_], state.cursor[place_], state.now[place_], state.running[place_], none, aborts
    )
    idle, answer = state.idle[place_], state.answer[place_]
    asking = Asking(answer, state.asking[place_], state.window, state.seconds[pool], idle, state.yields)
    fault = advance_picking(
        asking, task_columns(state, pool), Queue(nothing, nothing, nothing, length), state.count[pool],
        view_devices(state, place_, pool), clocks_of(state, place_), placement_columns(state, place_, pool), queues,
        Block(0, np.inf), waiting, None,
    )  # fmt: skip
    return fault.row == PAUSE


@jitable
def observe_picking(state: Any, place_: int, pool: int) -> None:
    """Write what is seen of the devices and of the oldest tasks that wait, and which of them the device may take."""
    now, asking, any_runs = state.now[place_, 0], state.asking[place_, 0], False
    seen, devices = state.seen[place_], state.kind.shape[1]
    for device in range(devices):
        seen[DEVICE_ENTRIES * device] = scale_seconds(max(state.free[place_, device] - now, 0.0), state.scale)
        seen[DEVICE_ENTRIES * device + 1] = state.kind[pool, device]
        seen[DEVICE_ENTRIES * device + 2] = device == asking
        any_runs |= state.running[place_, device] != NONE
    first, last = state.cursor[place_, FIRST], state.cursor[place_, LAST]
    seen[DEVICE_ENTRIES * devices :], state.mask[place_, :] = 0.0, False
    for position in range(state.window):
        if first + position < last:
            observe_task(state, place_, pool, position, state.waiting_row[place_, first + position], now, asking)
    state.mask[place_, state.window] = any_runs


@jitable
def observe_task(state: Any, place_: int, pool: int, position: int, row: int, now: float, asking: int) -> None:
    """Write what is seen of a task that waits."""
    devices, need = state.kind.shape[1], state.need[pool, row]
    seen = state.seen[place_, DEVICE_ENTRIES * devices + TASK_ENTRIES * position :]
    view = view_devices(state, place_, pool)
    fits = runs_fastest(state.seconds[pool, row], need, asking, view, state.idle[place_])
    seen[0], seen[1] = 1.0, fits
    seen[2] = min(state.size[pool, row] / 10000.0, MAX_ENTRY)
    seen[3] = min(state.intensity[pool, row], MAX_ENTRY)
    seen[4] = min(need / 5000.0, MAX_ENTRY)
    seen[5] = scale_seconds(now - state.arrival[pool, row], state.scale)
    state.mask[place_, position] = fits
