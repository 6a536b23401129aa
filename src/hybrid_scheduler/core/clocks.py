"""Device clocks: when each device ends its work, and what a scheduler can know of that in advance.

Where tasks carry expected times, or the scheduler is not clairvoyant, the actual end of queued work is in the future
and may not be seen. A non-clairvoyant scheduler expects what it predicts, else the mean of the tasks that have ended.
Finished work is known; running work is estimated to end at its start plus its expected seconds, or now if that has
passed; waiting work follows with its expected seconds. Each device keeps its work as a linked list, oldest first,
from which finished work is dropped: constant time per task, however long the queue.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.compiler import jitable
from hybrid_scheduler.core.tasks import Floats, Ints

NO_ENTRY = -1
ENDED_MEMORY, ERROR_MEMORY = 1000.0, 100.0
"""Tasks over which the mean seconds of a class run, so that they follow a workload that changes, and its errors."""


COLUMNS, COLUMNS_WITHOUT_ERRORS = 4, 2
"""Of the account of what has ended."""


class Estimates(NamedTuple):
    """When devices should become free, as far as that can be known."""

    end: Floats  # estimated end, as of the last decision
    delay: Floats  # seconds by which a device is behind the estimates made when its work was queued
    oldest: Ints  # first unfinished entry of a device, or NO_ENTRY
    newest: Ints
    following: Ints  # the entry queued next on the same device; entries that are used no more form a list too
    spans: Floats  # by entry: actual start and end, estimated ones (without the delay), seconds of the whole task
    # and those expected of it
    unused: Ints  # three entries: the first entry used no more, how many are unused, the first that never was used
    now: Floats  # two entries: time of the last decision, and the earliest end of what had not ended then


class Clocks(NamedTuple):
    """When devices become free, actually and as estimated."""

    free: Floats  # actual end of the work queued so far
    estimates: Estimates | None  # None where the actual ends may be seen: Numba then leaves out all that keeps them
    ended: Floats  # what has ended, by class, in columns (see `View.ended`); empty for a clairvoyant scheduler, and
    # without the errors for one that ignores them
    running: Floats  # by device, where queues are ordered: seconds of what runs, whole, those expected of it, and its
    # row; 0 seconds: nothing runs, or it is in `ended`
    device_class: Ints  # by device, where `ended` is not empty


def build_exact_clocks(free: Floats) -> Clocks:
    """Return clocks whose actual ends are known."""
    return Clocks(free, None, np.empty((0, 4)), np.empty((0, 3)), np.empty(0, np.int64))


def build_estimated_clocks(free: Floats) -> Clocks:
    """Return clocks with estimates; the end of what is queued so far counts as known."""
    count = len(free)
    estimates = Estimates(
        end=free.copy(),
        delay=np.zeros(count),
        oldest=np.full(count, NO_ENTRY),
        newest=np.full(count, NO_ENTRY),
        following=np.empty(0, np.int64),
        spans=np.empty((0, 6)),
        unused=np.array([NO_ENTRY, 0, 0]),
        now=np.array([0.0, -np.inf]),
    )
    return build_exact_clocks(free)._replace(estimates=estimates)


def count_ends(
    clocks: Clocks, device_class: Ints, classes: int, ordered: bool = False, errors: bool = True
) -> Clocks:
    """Return the clocks with means of the seconds of tasks that have ended, by class; what was counted stays."""
    columns = COLUMNS if errors else COLUMNS_WITHOUT_ERRORS
    if len(clocks.ended):
        missing = max(columns - clocks.ended.shape[1], 0)
        return clocks._replace(ended=np.pad(clocks.ended, ((0, 0), (0, missing)))) if missing else clocks
    running = np.zeros((len(device_class) if ordered else 0, 3))
    return clocks._replace(ended=np.zeros((classes, columns)), running=running, device_class=device_class)


def reserve_entries(estimates: Estimates, entries: int) -> Estimates:
    """Return the estimates with at least `entries` unused entries; the queues stay."""
    used = len(estimates.following)
    more = max(entries - int(estimates.unused[1]), 0)
    if not more:
        return estimates
    more = max(more, used)  # doubling: many small blocks cost no more than a large one
    # Few are ever used, and the others take neither memory nor time.
    following, spans = np.empty(used + more, np.int64), np.empty((used + more, estimates.spans.shape[1]))
    following[:used], spans[:used] = estimates.following, estimates.spans
    unused = estimates.unused + np.array([0, more, 0])
    return estimates._replace(following=following, spans=spans, unused=unused)


def copy_clocks(clocks: Clocks, free: Floats) -> Clocks:
    """Return an independent copy with `free` as its actual clocks."""
    _, estimates, ended, running, device_class = clocks
    if estimates is not None:
        columns: dict[str, Any] = {name: column.copy() for name, column in estimates._asdict().items()}
        estimates = Estimates(**columns)
    return Clocks(free, estimates, ended.copy(), running.copy(), device_class.copy())


def remap_clocks(clocks: Clocks, free: Floats, sources: list[int]) -> Clocks:
    """Return clocks of other devices: each gets the queue of the device in `sources`, or none for NO_ENTRY."""
    copied = copy_clocks(clocks, free)
    own = copied.estimates
    if own is None:
        return copied
    for device in set(range(len(clocks.free))) - set(sources):
        clear_queue(own, device)

    def pick(column: Any, default: float) -> Any:
        return np.array([default if source == NO_ENTRY else column[source] for source in sources], column.dtype)

    delay, oldest, newest = pick(own.delay, 0.0), pick(own.oldest, NO_ENTRY), pick(own.newest, NO_ENTRY)
    return copied._replace(estimates=own._replace(end=free.copy(), delay=delay, oldest=oldest, newest=newest))


def remap_ends(clocks: Clocks, device_class: Ints, sources: list[int]) -> Clocks:
    """Return clocks for other classes of devices: each has the means of the class in `sources`, or none."""
    if not len(clocks.ended):
        return clocks
    known = np.vstack([clocks.ended, np.zeros(clocks.ended.shape[1])])  # the last one, NO_ENTRY: none
    return clocks._replace(ended=known[sources], device_class=device_class)


def clear_queue(estimates: Estimates, device: int) -> None:
    """Drop everything that is queued on a device."""
    while estimates.oldest[device] != NO_ENTRY:
        drop_oldest(device, estimates)


def estimate_at(now: float, clocks: Clocks, estimates: Estimates) -> None:
    """Do as `update_estimates`, from Python: only devices with work take time."""
    note_time(now, clocks, estimates)
    estimates.end[:] = clocks.free
    for device in np.flatnonzero(estimates.oldest != NO_ENTRY).tolist():
        update_estimate(device, clocks, estimates)


@jitable
def update_estimates(now: float, clocks: Clocks, estimates: Estimates) -> None:
    """Estimate all clocks at the time of a decision."""
    note_time(now, clocks, estimates)
    for device in range(len(clocks.free)):
        update_estimate(device, clocks, estimates)


@jitable
def note_time(now: float, clocks: Clocks, estimates: Estimates) -> None:
    """Note the time of a decision; decisions never go back in time."""
    estimates.now[0] = max(now, estimates.now[0])
    estimates.now[1] = end_after(-np.inf, estimates.now[0], clocks.ended)


@jitable
def update_estimate(device: int, clocks: Clocks, estimates: Estimates) -> None:
    """Estimate the end of a device's work at the time of the last decision."""
    now = estimates.now[0]
    while estimates.oldest[device] != NO_ENTRY and estimates.spans[estimates.oldest[device], 1] <= now:
        if len(clocks.ended) > 0:
            entry = estimates.oldest[device]
            note_end(clocks.device_class[device], estimates.spans[entry, 4], estimates.spans[entry, 5], clocks.ended)
        drop_oldest(device, estimates)
    entry = estimates.oldest[device]
    if entry == NO_ENTRY:
        estimates.end[device] = clocks.free[device]
    else:
        estimates.delay[device] = max(estimates.delay[device], now - estimates.spans[entry, 3])
        last = estimates.spans[estimates.newest[device], 3]
        estimates.end[device] = max(last + estimates.delay[device], estimates.now[1])


@jitable
def end_after(estimate: float, now: float, ended: Floats) -> float:
    """Return the estimated end of what has not ended; without times to go by, a device at work is never idle."""
    return max(estimate, np.nextafter(now, np.inf)) if len(ended) > 0 else estimate


@jitable
def typical_seconds(kind: int, ended: Floats) -> float:
    """Return the mean seconds of tasks that have ended on a class, on any if none has there; 1 if none has at all."""
    if ended[kind, 0] > 0.0:
        return float(ended[kind, 1])
    number, total = 0.0, 0.0
    for other in range(len(ended)):
        number += ended[other, 0]
        total += ended[other, 0] * ended[other, 1]
    return total / number if number > 0.0 else 1.0  # any number counts queues


@jitable
def note_end(kind: int, seconds: float, expected: float, ended: Floats) -> None:
    """Count a task that has ended on a class: its seconds, and how wrong were those expected and the mean so far.

    Errors are left out where nobody asks: logarithms take as long as a quarter of a decision.
    """
    number = ended[kind, 0] + 1.0
    if seconds > 0.0 and ended.shape[1] > COLUMNS_WITHOUT_ERRORS:
        weight = 1.0 / min(number, ERROR_MEMORY)
        ended[kind, 2] += weight * (abs(math.log(expected / seconds)) - ended[kind, 2])
        ended[kind, 3] += weight * (abs(math.log(typical_seconds(kind, ended) / seconds)) - ended[kind, 3])
    ended[kind, 0] = min(number, ENDED_MEMORY)
    ended[kind, 1] += (seconds - ended[kind, 1]) / ended[kind, 0]


@jitable
def drop_oldest(device: int, estimates: Estimates) -> None:
    """Drop a device's oldest entry; the actual start of the next one shows how late the device is."""
    entry = estimates.oldest[device]
    after = estimates.following[entry]
    estimates.oldest[device] = after
    if after != NO_ENTRY:
        estimates.delay[device] = estimates.spans[after, 0] - estimates.spans[after, 2]
    estimates.following[entry] = estimates.unused[0]
    estimates.unused[0] = entry
    estimates.unused[1] += 1


@jitable
def enqueue(
    device: int,
    ready: float,
    start: float,
    end: float,
    share: float,
    whole: float,
    expected: float,
    estimates: Estimates,
) -> None:
    """Queue a share of a task that is ready at `ready` and runs from `start` to `end`.

    All of the task takes `whole` seconds, and is expected to take `expected`.
    """
    entry = estimates.unused[0]
    if entry != NO_ENTRY:
        estimates.unused[0] = estimates.following[entry]
    else:
        entry = estimates.unused[2]
        estimates.unused[2] += 1
    estimates.unused[1] -= 1
    estimates.following[entry] = NO_ENTRY
    begin = start  # known exactly where the queue is empty
    if estimates.oldest[device] == NO_ENTRY:
        estimates.oldest[device] = entry
        estimates.delay[device] = 0.0
    else:
        newest = estimates.newest[device]
        estimates.following[newest] = entry
        begin = max(ready - estimates.delay[device], estimates.spans[newest, 3])
    estimates.newest[device] = entry
    estimates.spans[entry, 0], estimates.spans[entry, 1] = start, end
    estimates.spans[entry, 2], estimates.spans[entry, 3] = begin, begin + share * expected
    estimates.spans[entry, 4], estimates.spans[entry, 5] = whole, expected
    estimates.end[device] = begin + share * expected + estimates.delay[device]
