"""Local search: give the tasks of a batch to devices so that the last device ends early (compiled).

A descent moves or swaps tasks of the fullest device as long as the fuller of the two devices gets less full. Then a
few tasks are kicked to where they cost little by the prices of the linear programme, and the descent starts again.
The budget is counted in kicks and looks, never in seconds, so one batch always has one answer.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit

from hybrid_scheduler.bounds.makespan import work_prices
from hybrid_scheduler.core.tasks import Floats, Ints

KICKS_PER_TASK = 100
"""And at most one kick for each pair of tasks, for there is little to find in a small batch."""
LOOKS_PER_PAIR = 40_000
"""Exchanges looked at for each pair of a task and a device, so that small batches take little time."""
MOST_LOOKS = 200_000_000
"""Less than a second on a free core."""
KICKED = (3, 8)
"""From how many to below how many tasks leave their device in a kick; after small ones the descent only goes back."""
NEAR = 0.003
"""Classes where a task costs more than this share of the whole batch above its cheapest one are left out."""
NEAREST = 3
"""That many classes are near, whatever they cost."""
SHARPNESS = 500.0
"""How much more a fuller device counts when two schedules are compared: 0.2 % fuller counts e times as much."""
SCAN = 64
"""Most tasks of a device, and most devices, that one step of the descent looks at."""
PRICED = 4
"""Prices are looked for if there are this many tasks a device; fewer are settled by the descent alone."""
SEEDS = (88172645463325252, 2463534242)
"""Large batches are searched twice, side by side, with different random numbers; the shorter schedule counts."""
WORTH_TWO = 1000
"""Pairs of a task and a device from which on a second search is worth its core."""
TOO_LONG = 1.05
"""A task does not belong where it alone takes this many times as long as the whole batch."""


class Schedule(NamedTuple):
    """A batch on its devices, as the search changes it."""

    seconds: Floats  # by class and task; inf where a task cannot run
    kind: Ints  # class of every device
    start: Floats  # when a device can begin
    device: Ints  # of every task
    load: Floats  # when a device will have ended
    members: Ints  # by device: its tasks, in any order
    held: Ints  # by device: how many those are
    place: Ints  # of every task among its device's members
    random: Ints  # one entry: state of the random numbers
    looks: Ints  # one entry: pairs that may still be looked at


def shortest_schedule(
    seconds: Floats, kind: Ints, start: Floats, prices: Floats, enough: float = 0.0, effort: float = 1.0
) -> Ints:
    """Return a device for every task; stop as soon as the last device ends by `enough`.

    `seconds` are by task and class, `kind` is the class of every device, `start` when it can begin, `prices` are by
    class and may be all 0. Every task needs a class that can run it and has a device.
    """
    tasks, devices = len(seconds), len(kind)
    kicks = int(effort * min(KICKS_PER_TASK, tasks - 1) * tasks)
    looks = min(effort * LOOKS_PER_PAIR * tasks * devices, effort * MOST_LOOKS)
    problem = seconds, kind, start, prices, enough, kicks, int(looks)
    if tasks * devices < WORTH_TWO:
        alone: Ints = _search(*problem, SEEDS[0])
        return alone
    with ThreadPoolExecutor(len(SEEDS)) as pool:  # compiled code lets go of the interpreter: one core each
        found = list(pool.map(lambda seed: _search(*problem, seed), SEEDS))
    return min(found, key=lambda device: float(ends(device, seconds, kind, start).max()))


def start_prices(seconds: Floats, kind: Ints, start: Floats) -> Floats:
    """Return prices by class to start from: those of the linear programme, without places that take too long.

    A task that alone takes longer than the whole batch spoils the prices: the programme would cut it into slices.
    """
    counts = np.bincount(kind, minlength=seconds.shape[1])
    shortest = np.where(counts > 0, seconds, np.inf)
    if len(seconds) < PRICED * len(kind):
        return np.zeros(len(counts))
    least = shortest.min(axis=1, keepdims=True)
    while True:
        prices = work_prices(shortest, counts)
        finite = np.isfinite(shortest)
        work = np.where(finite, prices * np.where(finite, shortest, 0.0), np.inf).min(axis=1).sum()
        too_long = finite & (shortest > TOO_LONG * (work + start.max() - start.min())) & (shortest > least)
        if not too_long.any():
            return prices
        shortest = np.where(too_long, np.inf, shortest)


def ends(device: Ints, seconds: Floats, kind: Ints, start: Floats) -> Floats:
    """Return when every device ends; one without tasks ends when it could begin."""
    load: Floats = start + np.bincount(device, seconds[np.arange(len(device)), kind[device]], len(kind))
    return load


@njit(cache=True, error_model="numpy", nogil=True)
def _search(
    seconds: Floats, kind: Ints, start: Floats, prices: Floats, enough: float, kicks: int, looks: int, seed: int
) -> Ints:
    near, near_count = _near(seconds, prices, kind, start.max() - start.min())
    seconds = _only(seconds, near, near_count)
    now = _schedule(seconds, kind, start, _by_price(seconds, kind, start, prices), looks, seed)
    other = _schedule(seconds, kind, start, _by_finish(seconds, kind, start), looks, seed)
    _descend(now)
    _descend(other)
    if other.load.max() < now.load.max():
        now = other
    best, shortest = now.device.copy(), now.load.max()
    kept, unit, weight = best.copy(), shortest, _weights(prices, kind)
    worth = _measure(now.load, weight, unit)
    longest = _longest_first(seconds)
    enough = max(enough, start.max())  # nothing ends before what the devices had to do already
    for _ in range(kicks):
        if shortest <= enough or now.looks[0] <= 0:
            break
        _kick(now, longest, near, near_count)
        _descend(now)
        measure = _measure(now.load, weight, unit)
        if measure > worth:
            _put(now, kept)
            continue
        kept[:], worth = now.device, measure
        if now.load.max() < shortest:
            best[:], shortest = now.device, now.load.max()
    _put(now, best)
    _settle(now)
    return now.device


@njit(cache=True, error_model="numpy", nogil=True)
def _schedule(seconds: Floats, kind: Ints, start: Floats, device: Ints, looks: int, seed: int) -> Schedule:
    tasks, devices = len(seconds), len(kind)
    empty = Schedule(
        np.ascontiguousarray(seconds.T),
        kind,
        start,
        np.empty(tasks, np.int64),
        np.empty(devices),
        np.empty((devices, tasks), np.int32),
        np.empty(devices, np.int64),
        np.empty(tasks, np.int64),
        np.full(1, seed),
        np.full(1, looks),
    )
    _put(empty, device)
    return empty


@njit(cache=True, error_model="numpy", nogil=True)
def _put(now: Schedule, device: Ints) -> None:
    """Make a schedule of an assignment."""
    now.load[:], now.held[:] = now.start, 0
    for task in range(len(device)):
        _add(now, task, device[task])


@njit(cache=True, error_model="numpy", nogil=True)
def _add(now: Schedule, task: int, device: int) -> None:
    now.device[task] = device
    now.members[device, now.held[device]] = task
    now.place[task] = now.held[device]
    now.held[device] += 1
    now.load[device] += now.seconds[now.kind[device], task]


@njit(cache=True, error_model="numpy", nogil=True)
def _move(now: Schedule, task: int, device: int) -> None:
    old = now.device[task]
    now.held[old] -= 1
    last = now.members[old, now.held[old]]
    now.members[old, now.place[task]] = last
    now.place[last] = now.place[task]
    now.load[old] -= now.seconds[now.kind[old], task]
    _add(now, task, device)


@njit(cache=True, error_model="numpy", nogil=True)
def _draw(now: Schedule, count: int) -> int:
    """Return a random number below `count` (xorshift)."""
    state = np.uint64(now.random[0])
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    now.random[0] = np.int64(state)
    return int(((np.int64(state) >> 20) & 0xFFFFFF) * count >> 24)


@njit(cache=True, error_model="numpy", nogil=True)
def _biased(now: Schedule, count: int, times: int) -> int:
    """Return a random number below `count`; the more often it is cut short, the smaller."""
    for _ in range(times):
        count = 1 + _draw(now, count)
    return _draw(now, count)


# --- where it starts -----------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy", nogil=True)
def _longest_first(seconds: Floats) -> Ints:
    shortest = np.empty(len(seconds))
    for task in range(len(seconds)):
        shortest[task] = seconds[task].min()
    return np.argsort(-shortest, kind="mergesort")


@njit(cache=True, error_model="numpy", nogil=True)
def _by_price(seconds: Floats, kind: Ints, start: Floats, prices: Floats) -> Ints:
    """Give every task, longest first, the device with the smallest price · time; equal prices to the least loaded."""
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


@njit(cache=True, error_model="numpy", nogil=True)
def _by_finish(seconds: Floats, kind: Ints, start: Floats) -> Ints:
    """Give every task, longest first, the device where it ends first."""
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


# --- descent -------------------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy", nogil=True)
def _descend(now: Schedule) -> None:
    """Take from the fullest device until no move and no swap helps it, or the budget is spent."""
    while now.looks[0] > 0 and _relieve(now, int(np.argmax(now.load))):
        pass


@njit(cache=True, error_model="numpy", nogil=True)
def _settle(now: Schedule) -> None:
    """Relieve all devices, fullest first: nothing becomes later that ends last, and others end earlier."""
    now.looks[0] = max(now.looks[0], 4 * SCAN * SCAN * len(now.device))
    again = True
    while again and now.looks[0] > 0:
        again = False
        for device in np.argsort(-now.load, kind="mergesort"):
            if now.held[device] > 0 and _relieve(now, device):
                again = True
                break


@njit(cache=True, error_model="numpy", nogil=True)
def _relieve(now: Schedule, full: int) -> bool:
    """Do the best move or swap with another device: the one after which the fuller of the two is least full."""
    devices, width = len(now.kind), min(len(now.kind), SCAN)
    first = _draw(now, devices) if devices > SCAN else 0
    best, one, other, target = now.load[full] * (1.0 - 1e-12), -1, -1, -1
    for k in range(width):
        device = (first + k) % devices
        if device != full:
            found, i, j = _best_exchange(now, full, device, best)
            if found < best:
                best, one, other, target = found, i, j, device
    if one < 0:
        return False
    _move(now, one, target)
    if other >= 0:
        _move(now, other, full)
    return True


@njit(cache=True, error_model="numpy", nogil=True)
def _best_exchange(now: Schedule, full: int, device: int, best: float) -> tuple[float, int, int]:
    """Return how full the fuller of two devices can become, and which tasks change places (-1: none comes back)."""
    one, other = -1, -1
    here, there = now.kind[full], now.kind[device]
    givers, takers = min(now.held[full], SCAN), min(now.held[device], SCAN)
    skip = _draw(now, now.held[full]) if now.held[full] > SCAN else 0
    leap = _draw(now, now.held[device]) if now.held[device] > SCAN else 0
    now.looks[0] -= givers
    on_here, on_there = now.seconds[here], now.seconds[there]
    for x in range(skip, skip + givers):
        i = now.members[full, x if x < now.held[full] else x - now.held[full]]
        left, taken = now.load[full] - on_here[i], now.load[device] + on_there[i]
        if left >= best or not np.isfinite(taken):
            continue
        now.looks[0] -= takers
        if taken < best:
            best, one, other = max(left, taken), i, -1
        for y in range(leap, leap + takers):
            j = now.members[device, y if y < now.held[device] else y - now.held[device]]
            fuller = max(left + on_here[j], taken - on_there[j])
            if fuller < best:
                best, one, other = fuller, i, j
    return best, one, other


# --- kicks ---------------------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy", nogil=True)
def _near(seconds: Floats, prices: Floats, kind: Ints, head_start: float) -> tuple[Ints, Ints]:
    """Return for every task the classes where it costs little more than on its cheapest one; a few at least.

    A device that begins earlier by a head start may take what costs that much more.
    """
    tasks, classes = seconds.shape
    near, count = np.zeros((tasks, classes), np.int64), np.zeros(tasks, np.int64)
    present = np.zeros(classes, np.bool_)
    for d in kind:
        present[d] = True
    cost = np.empty((tasks, classes))
    for task in range(tasks):
        for c in range(classes):
            can = present[c] and np.isfinite(seconds[task, c])
            cost[task, c] = prices[c] * seconds[task, c] if can else np.inf
    total = 0.0
    for task in range(tasks):
        total += cost[task].min()
    for task in range(tasks):
        for rank, c in enumerate(np.argsort(cost[task], kind="mergesort")):
            extra = cost[task, c] - cost[task].min()
            if np.isfinite(cost[task, c]) and (rank < NEAREST or extra <= NEAR * total + head_start):
                near[task, count[task]] = c
                count[task] += 1
    return near, count


@njit(cache=True, error_model="numpy", nogil=True)
def _only(seconds: Floats, near: Ints, near_count: Ints) -> Floats:
    """Return the times without the classes that are not near: no short schedule uses them."""
    kept = np.full(seconds.shape, np.inf)
    for task in range(len(seconds)):
        for c in near[task, : near_count[task]]:
            kept[task, c] = seconds[task, c]
    return kept


@njit(cache=True, error_model="numpy", nogil=True)
def _kick(now: Schedule, longest: Ints, near: Ints, near_count: Ints) -> None:
    """Send a few tasks to a near class, there to any device."""
    for _ in range(KICKED[0] + _draw(now, KICKED[1] - KICKED[0])):
        # Long tasks are kicked more often: the short ones fill in behind them.
        task = longest[_biased(now, len(longest), _draw(now, 3))]
        wanted = near[task, _draw(now, near_count[task])]
        device = _draw(now, len(now.kind))
        while now.kind[device] != wanted:
            device = (device + 1) % len(now.kind)
        if device != now.device[task]:
            _move(now, task, device)


@njit(cache=True, error_model="numpy", nogil=True)
def _weights(prices: Floats, kind: Ints) -> Floats:
    """Return what a second of every device counts: its price, and never nothing."""
    weight = np.empty(len(kind))
    for d in range(len(kind)):
        weight[d] = prices[kind[d]]
    if weight.sum() == 0.0:
        weight[:] = 1.0
    least: Floats = np.maximum(weight / weight.sum(), 1e-3 / len(kind))
    return least


@njit(cache=True, error_model="numpy", nogil=True)
def _measure(load: Floats, weight: Floats, unit: float) -> float:
    """Return a smooth stand-in for the longest load; among loads far below it, less priced work is better."""
    total = 0.0
    for d in range(len(load)):
        share = load[d] / unit
        total += weight[d] * (math.exp(SHARPNESS * (share - 1.0)) + 1e-9 * share)
    return total
