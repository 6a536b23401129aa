"""The devices' clocks: when each really ends its work, and what can be known of that before it has.

Where tasks carry expected times, the true end of queued work lies in the future and no policy may see it. Work that
has ended is known; what runs is believed to end at its start plus its expected seconds, or now if that has passed;
what waits follows with its expected seconds. Each device keeps its work as a linked list, oldest first, from which
work that has ended is dropped: a step for each task, however long the queue.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.compiling import jitable, rarely
from hybrid_scheduler.core.tasks import Floats, Ints

NONE = -1


class Clocks(NamedTuple):
    """When devices are free: truly, and as believed; the rest is empty while no task carries expected times."""

    free: Floats  # when the work queued so far will really have ended
    believed: Floats  # when it is believed to end, as of the last decision
    delay: Floats  # seconds by which a device's work goes later than was believed when it was queued
    oldest: Ints  # a device's first entry that has not ended, or NONE
    newest: Ints
    following: Ints  # the entry queued next on the same device; unused entries form a list too
    spans: Floats  # by entry: true start, true end, believed start, believed end (less the delay)
    unused: Ints  # two entries: the first of the unused entries, and how many there are
    now: Floats  # one entry: when the last decision was made


def true_clocks(free: Floats) -> Clocks:
    """Return clocks that nobody is wrong about."""
    none, nowhere = np.empty(0), np.empty(0, np.int64)
    return Clocks(free, none, none, nowhere, nowhere, nowhere, np.empty((0, 4)), nowhere, none)


def believing_clocks(free: Floats) -> Clocks:
    """Return clocks with beliefs; what is queued so far is taken as known."""
    count = len(free)
    return Clocks(
        free=free,
        believed=free.copy(),
        delay=np.zeros(count),
        oldest=np.full(count, NONE),
        newest=np.full(count, NONE),
        following=np.empty(0, np.int64),
        spans=np.empty((0, 4)),
        unused=np.array([NONE, 0]),
        now=np.zeros(1),
    )


def with_room(clocks: Clocks, entries: int) -> Clocks:
    """Return the clocks with room for more entries; what is queued stays queued."""
    used = len(clocks.following)
    more = max(entries - int(clocks.unused[1]), 0)
    if not more:
        return clocks
    more = max(more, used)  # doubles, so that many small blocks cost no more than a large one
    new = np.arange(used + 1, used + more + 1)
    new[-1] = clocks.unused[0]
    unused = np.array([used, clocks.unused[1] + more])
    following, spans = np.concatenate([clocks.following, new]), np.concatenate([clocks.spans, np.empty((more, 4))])
    return clocks._replace(following=following, spans=spans, unused=unused)


def copied(clocks: Clocks, free: Floats) -> Clocks:
    """Return clocks of one's own that stand alike; `free` are their true ones."""
    columns: dict[str, Any] = {name: column.copy() for name, column in clocks._asdict().items()}
    return Clocks(**{**columns, "free": free})


def moved(clocks: Clocks, free: Floats, sources: list[int]) -> Clocks:
    """Return clocks of other devices: each has the work of the device in `sources`, or none if that is NONE."""
    own = copied(clocks, clocks.free)
    for device in set(range(len(clocks.free))) - set(sources):
        forget(own, device)

    def picked(column: Any, else_: float) -> Any:
        return np.array([else_ if source == NONE else column[source] for source in sources], column.dtype)

    delay, oldest, newest = picked(own.delay, 0.0), picked(own.oldest, NONE), picked(own.newest, NONE)
    return own._replace(free=free, believed=free.copy(), delay=delay, oldest=oldest, newest=newest)


def forget(clocks: Clocks, device: int) -> None:
    """Drop all that a device has queued."""
    while clocks.oldest[device] != NONE:
        drop(device, clocks)


@rarely
def look(now: float, clocks: Clocks) -> None:
    """Find what can be known at a decision; decisions never go back in time."""
    clocks.now[0] = max(now, clocks.now[0])
    for device in range(len(clocks.free)):
        clocks.believed[device] = believed_end(device, clocks.now[0], clocks)


@jitable
def believed_end(device: int, now: float, clocks: Clocks) -> float:
    """Return when a device is believed to end its work."""
    while clocks.oldest[device] != NONE and clocks.spans[clocks.oldest[device], 1] <= now:
        drop(device, clocks)
    entry = clocks.oldest[device]
    if entry == NONE:
        return float(clocks.free[device])
    clocks.delay[device] = max(clocks.delay[device], now - clocks.spans[entry, 3])
    return float(clocks.spans[clocks.newest[device], 3] + clocks.delay[device])


@jitable
def drop(device: int, clocks: Clocks) -> None:
    """Drop the oldest entry of a device: the next one starts, and all behind it are early or late by as much."""
    entry = clocks.oldest[device]
    after = clocks.following[entry]
    clocks.oldest[device] = after
    if after != NONE:
        clocks.delay[device] = clocks.spans[after, 0] - clocks.spans[after, 2]
    clocks.following[entry] = clocks.unused[0]
    clocks.unused[0] = entry
    clocks.unused[1] += 1


@rarely
def note(device: int, earliest: float, start: float, end: float, expected: float, clocks: Clocks) -> None:
    """Queue work on a device that may start at `earliest`, is expected to take that long and really ends at `end`."""
    entry = clocks.unused[0]
    clocks.unused[0] = clocks.following[entry]
    clocks.unused[1] -= 1
    clocks.following[entry] = NONE
    begin = start  # an empty queue hides nothing
    if clocks.oldest[device] == NONE:
        clocks.oldest[device] = entry
        clocks.delay[device] = 0.0
    else:
        newest = clocks.newest[device]
        clocks.following[newest] = entry
        begin = max(earliest - clocks.delay[device], clocks.spans[newest, 3])
    clocks.newest[device] = entry
    clocks.spans[entry, 0], clocks.spans[entry, 1] = start, end
    clocks.spans[entry, 2], clocks.spans[entry, 3] = begin, begin + expected
    clocks.believed[device] = begin + expected + clocks.delay[device]
