"""Iterated local search: assign the tasks of a batch to devices so that the last device ends early (compiled).

The descent moves or swaps tasks of the most loaded device as long as the larger load of the two devices falls. Then
a kick sends a few tasks where they cost little by the prices of the linear programme, and the descent starts again.
The budget counts kicks and evaluated exchanges, never seconds, so the same batch always gets the same answer.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.bounds.makespan import find_prices
from hybrid_scheduler.core.compiler import jit
from hybrid_scheduler.core.tasks import Floats, Ints

KICKS_PER_TASK = 100
"""And at most one kick per pair of tasks: small batches have little left to find."""
STEPS_PER_PAIR = 40_000
"""Exchanges evaluated per pair of task and device, so that small batches take little time."""
MAX_STEPS = 200_000_000
"""Exchanges evaluated in all: less than a second on an idle core."""
KICK_SIZE = (3, 8)
"""Tasks moved by a kick, from, to below: after smaller ones the descent only returns to where it was."""
MAX_EXTRA_COST = 0.003
"""Classes where a task costs more than its cheapest one plus this share of the batch are no candidates."""
MIN_CANDIDATES = 3
"""Candidate classes of every task, whatever they cost."""
SHARPNESS = 500.0
"""Weight of high loads when two schedules are compared: a load 0.2 % higher counts e times as much."""
MAX_SCAN = 64
"""Most tasks of a device, and most devices, that one step of the descent evaluates."""
MIN_TASKS_PER_DEVICE = 4
"""With fewer, the descent alone is good enough and no prices are computed."""
SEEDS = (88172645463325252, 2463534242)
"""Large batches are searched once per seed in parallel; the shorter schedule wins."""
PARALLEL_PAIRS = 1000
"""Pairs of task and device above which a batch is large."""
MAX_TASK_SHARE = 1.05
"""A task is kept off classes where it alone takes this many times as long as the whole batch."""


class SearchState(NamedTuple):
    """An assignment of the batch to devices, changed in place."""

    seconds: Floats  # by class and task; inf where a task cannot run
    kind: Ints  # class of every device
    start: Floats  # when a device can begin
    device: Ints  # of every task
    load: Floats  # when a device ends
    members: Ints  # by device: its tasks, in any order
    counts: Ints  # by device: the number of its tasks
    position: Ints  # of every task among its device's members
    random: Ints  # one entry: state of the random number generator
    budget: Ints  # one entry: exchanges that may still be evaluated


def search_assignment(
    seconds: Floats, kind: Ints, start: Floats, prices: Floats, enough: float = 0.0, effort: float = 1.0
) -> Ints:
    """Return a device for every task; stop as soon as the last device ends by `enough`.

    `seconds` are by task and class, `kind` is the class of every device, `start` when it is free, and `prices` are
    by class and may be all 0. Every task needs a device that can run it.
    """
    tasks, devices = len(seconds), len(kind)
    kicks = int(effort * min(KICKS_PER_TASK, tasks - 1) * tasks)
    steps = min(effort * STEPS_PER_PAIR * tasks * devices, effort * MAX_STEPS)
    problem = seconds, kind, start, prices, enough, kicks, int(steps)
    if tasks * devices < PARALLEL_PAIRS:
        return _search(*problem, SEEDS[0])
    with ThreadPoolExecutor(len(SEEDS)) as pool:  # compiled code releases the GIL: one core each
        found = list(pool.map(lambda seed: _search(*problem, seed), SEEDS))
    return min(found, key=lambda device: float(finish_times(device, seconds, kind, start).max()))


def find_start_prices(seconds: Floats, kind: Ints, start: Floats) -> Floats:
    """Return the prices of the linear programme by class, without pairs of task and class that take too long.

    A task that alone takes longer than the whole batch distorts the prices: the relaxation would split it.
    """
    counts = np.bincount(kind, minlength=seconds.shape[1])
    shortest = np.where(counts > 0, seconds, np.inf)
    if len(seconds) < MIN_TASKS_PER_DEVICE * len(kind):
        return np.zeros(len(counts))
    least = shortest.min(axis=1, keepdims=True)
    while True:
        prices = find_prices(shortest, counts)
        finite = np.isfinite(shortest)
        work = np.where(finite, prices * np.where(finite, shortest, 0.0), np.inf).min(axis=1).sum()
        too_long = finite & (shortest > MAX_TASK_SHARE * (work + start.max() - start.min())) & (shortest > least)
        if not too_long.any():
            return prices
        shortest = np.where(too_long, np.inf, shortest)


def finish_times(device: Ints, seconds: Floats, kind: Ints, start: Floats) -> Floats:
    """Return when every device ends; one without tasks ends at its start."""
    load: Floats = start + np.bincount(device, seconds[np.arange(len(device)), kind[device]], len(kind))
    return load


@jit
def _search(
    seconds: Floats, kind: Ints, start: Floats, prices: Floats, enough: float, kicks: int, budget: int, seed: int
) -> Ints:
    seconds, candidates, candidate_count = _find_candidates(seconds, prices, kind, start.max() - start.min())
    state = _start_search(seconds, kind, start, _assign_by_price(seconds, kind, start, prices), budget, seed)
    other = _start_search(seconds, kind, start, _assign_by_finish(seconds, kind, start), budget, seed)
    _descend(state)
    _descend(other)
    if other.load.max() < state.load.max():
        state = other
    best, shortest = state.device.copy(), state.load.max()
    kept, unit, weight = best.copy(), shortest, _device_weights(prices, kind)
    worth = _smooth_makespan(state.load, weight, unit)
    longest = _longest_first(seconds)
    enough = max(enough, start.max())  # no schedule ends before the devices are free
    for _ in range(kicks):
        if shortest <= enough or state.budget[0] <= 0:
            break
        _kick(state, longest, candidates, candidate_count)
        _descend(state)
        measure = _smooth_makespan(state.load, weight, unit)
        if measure > worth:
            _load_assignment(state, kept)
            continue
        kept[:], worth = state.device, measure
        if state.load.max() < shortest:
            best[:], shortest = state.device, state.load.max()
    _load_assignment(state, best)
    _polish(state)
    return state.device


@jit
def _start_search(seconds: Floats, kind: Ints, start: Floats, device: Ints, budget: int, seed: int) -> SearchState:
    tasks, devices = len(seconds), len(kind)
    empty = SearchState(
        np.ascontiguousarray(seconds.T),
        kind,
        start,
        np.empty(tasks, np.int64),
        np.empty(devices),
        np.empty((devices, tasks), np.int32),
        np.empty(devices, np.int64),
        np.empty(tasks, np.int64),
        np.full(1, seed),
        np.full(1, budget),
    )
    _load_assignment(empty, device)
    return empty


@jit
def _load_assignment(state: SearchState, device: Ints) -> None:
    """Set the state to an assignment."""
    state.load[:], state.counts[:] = state.start, 0
    for task in range(len(device)):
        _add(state, task, device[task])


@jit
def _add(state: SearchState, task: int, device: int) -> None:
    state.device[task] = device
    state.members[device, state.counts[device]] = task
    state.position[task] = state.counts[device]
    state.counts[device] += 1
    state.load[device] += state.seconds[state.kind[device], task]


@jit
def _move(state: SearchState, task: int, device: int) -> None:
    old = state.device[task]
    state.counts[old] -= 1
    last = state.members[old, state.counts[old]]
    state.members[old, state.position[task]] = last
    state.position[last] = state.position[task]
    state.load[old] -= state.seconds[state.kind[old], task]
    _add(state, task, device)


@jit
def _draw(state: SearchState, count: int) -> int:
    """Return a random number below `count` (xorshift)."""
    bits = np.uint64(state.random[0])
    bits ^= bits << np.uint64(13)
    bits ^= bits >> np.uint64(7)
    bits ^= bits << np.uint64(17)
    state.random[0] = np.int64(bits)
    return int(((np.int64(bits) >> 20) & 0xFFFFFF) * count >> 24)


@jit
def _draw_biased(state: SearchState, count: int, times: int) -> int:
    """Return a random number below `count`; the larger `times`, the smaller it tends to be."""
    for _ in range(times):
        count = 1 + _draw(state, count)
    return _draw(state, count)


@jit
def _longest_first(seconds: Floats) -> Ints:
    shortest = np.empty(len(seconds))
    for task in range(len(seconds)):
        shortest[task] = seconds[task].min()
    return np.argsort(-shortest, kind="mergesort")


@jit
def _assign_by_price(seconds: Floats, kind: Ints, start: Floats, prices: Floats) -> Ints:
    """Assign every task, longest first, to the device of least price · time, the least loaded of equal ones."""
    load, device = start.copy(), np.zeros(len(seconds), np.int64)
    for task in _longest_first(seconds):
        best, cheapest = -1, np.inf
        for d in range(len(kind)):
            if not np.isfinite(seconds[task, kind[d]]):
                continue
            price = prices[kind[d]] * seconds[task, kind[d]]
            if best < 0 or price < cheapest or (price == cheapest and load[d] < load[best]):
                best, cheapest = d, price
        device[task] = best
        load[best] += seconds[task, kind[best]]
    return device


@jit
def _assign_by_finish(seconds: Floats, kind: Ints, start: Floats) -> Ints:
    """Assign every task, longest first, to the device where it ends first."""
    load, device = start.copy(), np.zeros(len(seconds), np.int64)
    for task in _longest_first(seconds):
        best, earliest = 0, np.inf
        for d in range(len(kind)):
            finish = load[d] + seconds[task, kind[d]]
            if finish < earliest:
                best, earliest = d, finish
        device[task] = best
        load[best] = earliest
    return device


@jit
def _descend(state: SearchState) -> None:
    """Relieve the most loaded device until no exchange helps or the budget is spent."""
    while state.budget[0] > 0 and _relieve_device(state, int(np.argmax(state.load))):
        pass


@jit
def _polish(state: SearchState) -> None:
    """Relieve all devices, most loaded first: the makespan stays, other devices end earlier."""
    state.budget[0] = max(state.budget[0], 4 * MAX_SCAN * MAX_SCAN * len(state.device))
    again = True
    while again and state.budget[0] > 0:
        again = False
        for device in np.argsort(-state.load, kind="mergesort"):
            if state.counts[device] > 0 and _relieve_device(state, device):
                again = True
                break


@jit
def _relieve_device(state: SearchState, source: int) -> bool:
    """Do the exchange with another device after which the larger load of the two is smallest."""
    devices, width = len(state.kind), min(len(state.kind), MAX_SCAN)
    first = _draw(state, devices) if devices > MAX_SCAN else 0
    best, one, other, chosen = state.load[source] * (1.0 - 1e-12), -1, -1, -1
    for k in range(width):
        target = (first + k) % devices
        if target != source:
            found, i, j = _best_exchange(state, source, target, best)
            if found < best:
                best, one, other, chosen = found, i, j, target
    if one < 0:
        return False
    _move(state, one, chosen)
    if other >= 0:
        _move(state, other, source)
    return True


@jit
def _best_exchange(state: SearchState, source: int, target: int, best: float) -> tuple[float, int, int]:
    """Return the larger load after the best exchange, and the tasks exchanged (-1: none comes back)."""
    one, other = -1, -1
    here, there = state.kind[source], state.kind[target]
    givers, takers = min(state.counts[source], MAX_SCAN), min(state.counts[target], MAX_SCAN)
    skip = _draw(state, state.counts[source]) if state.counts[source] > MAX_SCAN else 0
    leap = _draw(state, state.counts[target]) if state.counts[target] > MAX_SCAN else 0
    state.budget[0] -= givers
    on_here, on_there = state.seconds[here], state.seconds[there]
    for x in range(skip, skip + givers):
        i = state.members[source, x if x < state.counts[source] else x - state.counts[source]]
        left, taken = state.load[source] - on_here[i], state.load[target] + on_there[i]
        if left >= best or not np.isfinite(taken):
            continue
        state.budget[0] -= takers
        if taken < best:
            best, one, other = max(left, taken), i, -1
        for y in range(leap, leap + takers):
            j = state.members[target, y if y < state.counts[target] else y - state.counts[target]]
            larger = max(left + on_here[j], taken - on_there[j])
            if larger < best:
                best, one, other = larger, i, j
    return best, one, other


@jit
def _find_candidates(seconds: Floats, prices: Floats, kind: Ints, head_start: float) -> tuple[Floats, Ints, Ints]:
    """Return for every task the classes where it costs little more than on its cheapest one, and how many.

    All other classes become inf in the returned times: no short schedule uses them. The head start of a device that
    is free earlier may make up for a higher cost.
    """
    tasks, classes = seconds.shape
    candidates, count = np.zeros((tasks, classes), np.int64), np.zeros(tasks, np.int64)
    kept, cost = np.full((tasks, classes), np.inf), np.full((tasks, classes), np.inf)
    total = 0.0
    for task in range(tasks):
        for c in kind:
            if np.isfinite(seconds[task, c]):
                cost[task, c] = prices[c] * seconds[task, c]
        total += cost[task].min()
    for task in range(tasks):
        for rank, c in enumerate(np.argsort(cost[task], kind="mergesort")):
            extra = cost[task, c] - cost[task].min()
            if np.isfinite(cost[task, c]) and (rank < MIN_CANDIDATES or extra <= MAX_EXTRA_COST * total + head_start):
                candidates[task, count[task]] = c
                count[task] += 1
                kept[task, c] = seconds[task, c]
    return kept, candidates, count


@jit
def _kick(state: SearchState, longest: Ints, candidates: Ints, candidate_count: Ints) -> None:
    """Send a few tasks to a random device of one of their candidate classes."""
    for _ in range(KICK_SIZE[0] + _draw(state, KICK_SIZE[1] - KICK_SIZE[0])):
        # Long tasks are kicked more often: the short ones fill in behind them.
        task = longest[_draw_biased(state, len(longest), _draw(state, 3))]
        wanted = candidates[task, _draw(state, candidate_count[task])]
        device = _draw(state, len(state.kind))
        while state.kind[device] != wanted:
            device = (device + 1) % len(state.kind)
        if device != state.device[task]:
            _move(state, task, device)


@jit
def _device_weights(prices: Floats, kind: Ints) -> Floats:
    """Return the weight of a second of every device: its price, with a positive floor."""
    weight = prices[kind]
    if weight.sum() == 0.0:
        weight[:] = 1.0
    shares: Floats = np.maximum(weight / weight.sum(), 1e-3 / len(kind))
    return shares


@jit
def _smooth_makespan(load: Floats, weight: Floats, unit: float) -> float:
    """Return a smooth substitute for the makespan; among low loads it prefers less priced work."""
    total = 0.0
    for d in range(len(load)):
        share = load[d] / unit
        total += weight[d] * (math.exp(SHARPNESS * (share - 1.0)) + 1e-9 * share)
    return total
