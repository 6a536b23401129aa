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

from hybrid_scheduler.core.compiler import jitable, no_inline
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import typical_seconds

NO_ENTRY = -1
ENDED_MEMORY, ERROR_MEMORY = 1000.0, 100.0
"""Tasks over which the mean seconds of a class run, so that they follow a workload that changes, and its errors."""


class Clocks(NamedTuple):
    """When devices become free, actually and as estimated; without expected times all but `free` is empty."""

    free: Floats  # actual end of the work queued so far
    estimated: Floats  # estimated end, as of the last decision
    delay: Floats  # seconds by which a device is behind the estimates made when its work was queued
    oldest: Ints  # first unfinished entry of a device, or NO_ENTRY
    newest: Ints
    following: Ints  # the entry queued next on the same device; unused entries form a list too
    spans: Floats  # by entry: actual start and end, estimated ones (without the delay), seconds of the whole task
    # and those expected of it
    unused: Ints  # two entries: the first unused entry, and how many there are
    now: Floats  # one entry: time of the last decision
    ended: Floats  # what has ended, by class, in columns (see `View.ended`); empty for a clairvoyant scheduler
    running: Floats  # by device, where queues are ordered: seconds of what runs, whole, and those expected of it; 0:
    # nothing runs, or it is in `ended`
    device_class: Ints  # by device, where `ended` is not empty


def build_exact_clocks(free: Floats) -> Clocks:
    """Return clocks whose actual ends are known."""
    floats, entries, nothing = np.empty(0), np.empty(0, np.int64), np.empty((0, 4))
    spans, running = np.empty((0, 6)), np.empty((0, 2))
    return Clocks(free, floats, floats, entries, entries, entries, spans, entries, floats, nothing, running, entries)


def build_estimated_clocks(free: Floats) -> Clocks:
    """Return clocks with estimates; the end of what is queued so far counts as known."""
    count = len(free)
    return Clocks(
        free=free,
        estimated=free.copy(),
        delay=np.zeros(count),
        oldest=np.full(count, NO_ENTRY),
        newest=np.full(count, NO_ENTRY),
        following=np.empty(0, np.int64),
        spans=np.empty((0, 6)),
        unused=np.array([NO_ENTRY, 0]),
        now=np.zeros(1),
        ended=np.empty((0, 4)),
        running=np.empty((0, 2)),
        device_class=np.empty(0, np.int64),
    )


def count_ends(clocks: Clocks, device_class: Ints, classes: int, ordered: bool = False) -> Clocks:
    """Return the clocks with means of the seconds of tasks that have ended, by class; what was counted stays."""
    if len(clocks.ended):
        return clocks
    running = np.zeros((len(device_class) if ordered else 0, 2))
    return clocks._replace(ended=np.zeros((classes, 4)), running=running, device_class=device_class)


def reserve_entries(clocks: Clocks, entries: int) -> Clocks:
    """Return the clocks with at least `entries` unused entries; the queues stay."""
    used = len(clocks.following)
    more = max(entries - int(clocks.unused[1]), 0)
    if not more:
        return clocks
    more = max(more, used)  # doubling: many small blocks cost no more than a large one
    new = np.arange(used + 1, used + more + 1)
    new[-1] = clocks.unused[0]
    unused = np.array([used, clocks.unused[1] + more])
    following, spans = np.concatenate([clocks.following, new]), np.concatenate([clocks.spans, np.empty((more, 6))])
    return clocks._replace(following=following, spans=spans, unused=unused)


def copy_clocks(clocks: Clocks, free: Floats) -> Clocks:
    """Return an independent copy with `free` as its actual clocks."""
    columns: dict[str, Any] = {name: column.copy() for name, column in clocks._asdict().items()}
    return Clocks(**{**columns, "free": free})


def remap_clocks(clocks: Clocks, free: Floats, sources: list[int]) -> Clocks:
    """Return clocks of other devices: each gets the queue of the device in `sources`, or none for NO_ENTRY."""
    own = copy_clocks(clocks, clocks.free)
    for device in set(range(len(clocks.free))) - set(sources):
        clear_queue(own, device)

    def pick(column: Any, default: float) -> Any:
        return np.array([default if source == NO_ENTRY else column[source] for source in sources], column.dtype)

    delay, oldest, newest = pick(own.delay, 0.0), pick(own.oldest, NO_ENTRY), pick(own.newest, NO_ENTRY)
    return own._replace(free=free, estimated=free.copy(), delay=delay, oldest=oldest, newest=newest)


def remap_ends(clocks: Clocks, device_class: Ints, sources: list[int]) -> Clocks:
    """Return clocks for other classes of devices: each has the means of the class in `sources`, or none."""
    if not len(clocks.ended):
        return clocks
    known = np.vstack([clocks.ended, np.zeros(4)])  # the last one, NO_ENTRY: none
    return clocks._replace(ended=known[sources], device_class=device_class)


def clear_queue(clocks: Clocks, device: int) -> None:
    """Drop everything that is queued on a device."""
    while clocks.oldest[device] != NO_ENTRY:
        drop_oldest(device, clocks)


@no_inline
def update_estimates(now: float, clocks: Clocks) -> None:
    """Estimate all clocks at the time of a decision; decisions never go back in time."""
    clocks.now[0] = max(now, clocks.now[0])
    for device in range(len(clocks.free)):
        clocks.estimated[device] = estimate_end(device, clocks.now[0], clocks)


@jitable
def estimate_end(device: int, now: float, clocks: Clocks) -> float:
    """Return the estimated end of a device's work."""
    while clocks.oldest[device] != NO_ENTRY and clocks.spans[clocks.oldest[device], 1] <= now:
        if len(clocks.ended) > 0:
            entry = clocks.oldest[device]
            note_end(clocks.device_class[device], clocks.spans[entry, 4], clocks.spans[entry, 5], clocks.ended)
        drop_oldest(device, clocks)
    entry = clocks.oldest[device]
    if entry == NO_ENTRY:
        return float(clocks.free[device])
    clocks.delay[device] = max(clocks.delay[device], now - clocks.spans[entry, 3])
    return end_after(clocks.spans[clocks.newest[device], 3] + clocks.delay[device], now, clocks)


@jitable
def end_after(estimate: float, now: float, clocks: Clocks) -> float:
    """Return the estimated end of what has not ended; without times to go by, a device at work is never idle."""
    return max(estimate, np.nextafter(now, np.inf)) if len(clocks.ended) > 0 else estimate


@jitable
def note_end(kind: int, seconds: float, expected: float, ended: Floats) -> None:
    """Count a task that has ended on a class: its seconds, and how wrong were those expected and the mean so far."""
    number = ended[kind, 0] + 1.0
    if seconds > 0.0:
        weight = 1.0 / min(number, ERROR_MEMORY)
        ended[kind, 2] += weight * (abs(math.log(expected / seconds)) - ended[kind, 2])
        ended[kind, 3] += weight * (abs(math.log(typical_seconds(kind, ended) / seconds)) - ended[kind, 3])
    ended[kind, 0] = min(number, ENDED_MEMORY)
    ended[kind, 1] += (seconds - ended[kind, 1]) / ended[kind, 0]


@jitable
def drop_oldest(device: int, clocks: Clocks) -> None:
    """Drop a device's oldest entry; the actual start of the next one shows how late the device is."""
    entry = clocks.oldest[device]
    after = clocks.following[entry]
    clocks.oldest[device] = after
    if after != NO_ENTRY:
        clocks.delay[device] = clocks.spans[after, 0] - clocks.spans[after, 2]
    clocks.following[entry] = clocks.unused[0]
    clocks.unused[0] = entry
    clocks.unused[1] += 1


@no_inline
def enqueue(
    device: int, ready: float, start: float, end: float, share: float, whole: float, expected: float, clocks: Clocks
) -> None:
    """Queue a share of a task that is ready at `ready` and runs from `start` to `end`.

    All of the task takes `whole` seconds, and is expected to take `expected`.
    """
    entry = clocks.unused[0]
    clocks.unused[0] = clocks.following[entry]
    clocks.unused[1] -= 1
    clocks.following[entry] = NO_ENTRY
    begin = start  # known exactly where the queue is empty
    if clocks.oldest[device] == NO_ENTRY:
        clocks.oldest[device] = entry
        clocks.delay[device] = 0.0
    else:
        newest = clocks.newest[device]
        clocks.following[newest] = entry
        begin = max(ready - clocks.delay[device], clocks.spans[newest, 3])
    clocks.newest[device] = entry
    clocks.spans[entry, 0], clocks.spans[entry, 1] = start, end
    clocks.spans[entry, 2], clocks.spans[entry, 3] = begin, begin + share * expected
    clocks.spans[entry, 4], clocks.spans[entry, 5] = whole, expected
    clocks.estimated[device] = begin + share * expected + clocks.delay[device]
