"""An index of many devices: which of a class is free first, without a look at all of them.

Where ends are estimated they change with time alone: what has ended becomes known, and the end of what is overdue
moves on with every decision. The index keeps apart the ends that stand and those that move, all by as much, and knows
when the next device will pass from one to the other. Its answers have the same bits as a look at all devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.clocks import NO_ENTRY, Clocks, Estimates, note_time, update_estimate
from hybrid_scheduler.core.compiler import jit_late, jitable
from hybrid_scheduler.core.tasks import Floats, Ints

if TYPE_CHECKING:
    from hybrid_scheduler.core.view import View

NO_DEVICE, NO_NODE = -1, -1
BITS = 3
WAYS = 1 << BITS  # below a node: as many ends as one line of a cache holds
SLACK = 1e-15  # relative: more than the rounding of the few sums of which an estimated end is made


class DeviceIndex(NamedTuple):
    """Tournament trees over the devices of every class: when the first of them is free.

    The tree of a class begins at `first`: node 0 is its root, 8k + 1 to 8k + 8 are below k, the nodes from `leaves`
    on are its devices in order of their numbers. Failed devices, and leaves without a device, are never free.
    """

    least: Floats  # by node: the earliest end that stands
    offset: Floats  # by node: how far the earliest end that moves is behind the time of a decision, at least
    due: Floats  # by node: when a device first passes from standing to moving or ends what it runs
    device: Ints  # by node: the device of a leaf
    first: Ints  # by class
    leaves: Ints  # by class: how many nodes are not devices, which is the node of its first device
    leaf: Ints  # by device: its node
    clocks: Clocks
    estimates: Estimates | None  # of the clocks; without, no end moves, and `offset` and `due` are empty


def add_device_index(view: View, clocks: Clocks) -> View:
    """Return the view with an index of its devices as they are now."""
    number = np.bincount(view.device_class)
    leaves = np.array([_count_inner_nodes(each) for each in number.tolist()])
    # A node reads all of its ways. Those of one node fill a line of the cache, because a root is the last of a line.
    size = (WAYS - 1) + leaves + WAYS * -(-np.maximum(number, 1) // WAYS)
    size = WAYS * -(-size // WAYS)
    first = np.cumsum(size) - size + (WAYS - 1)
    order, before = np.argsort(view.device_class, kind="stable"), np.cumsum(number) - number
    leaf = np.empty(len(order), np.int64)
    leaf[order] = np.arange(len(order)) + (leaves - before)[view.device_class[order]]
    device = np.zeros(int(size.sum()), np.int64)
    device[first[view.device_class] + leaf] = np.arange(len(leaf))
    least = _never_free(len(device))
    moves = len(device) if clocks.estimates is not None else 0
    offset, due = _never_free(moves), _never_free(moves)
    index = DeviceIndex(least, offset, due, device, first, leaves, leaf, clocks, clocks.estimates)
    view = view._replace(device_index=index)
    _fill_index(view.free, index, view)
    return view


def _never_free(nodes: int) -> Floats:
    """Return ends of no device that begin with a line of the cache."""
    ends = np.full(nodes + WAYS, np.inf)
    skip = -(ends.ctypes.data // ends.itemsize) % WAYS
    return ends[skip : skip + nodes]


def _count_inner_nodes(devices: int) -> int:
    """Return the nodes above the devices of a class."""
    nodes, width = 0, 1
    while width < devices:
        nodes, width = nodes + width, width * WAYS
    return nodes


@jit_late
def _fill_index(free: Floats, index: DeviceIndex, view: View) -> None:
    for device in range(len(free)):
        note_free(index, view, device)


@jitable
def note_free(index: DeviceIndex | None, view: View, device: int) -> None:
    """Note in the index, if there is one, when a device is free now, and from when on that changes with time.

    The index is an argument of its own, here and elsewhere: Numba leaves out what follows from its being None.
    """
    if index is not None:
        first, node = index.first[view.device_class[device]], index.leaf[device]
        works: bool = view.memory[device] >= 0.0
        note_ends(index, index.estimates, first, node, device, view.free[device], works)


@jitable
def note_ends(
    index: DeviceIndex, estimates: Estimates | None, first: int, node: int, device: int, free: float, works: bool
) -> None:
    """Write the end of a device that stands or moves."""
    if estimates is None:
        write_end(index.least, first, node, free if works else np.inf)
    else:
        stands, offset, due = index.clocks.free[device], np.inf, np.inf
        entry = estimates.oldest[device]
        if entry != NO_ENTRY:
            oldest, newest = estimates.spans[entry, 3], estimates.spans[estimates.newest[device], 3]
            delay = estimates.delay[device]
            stands, due = newest + delay, estimates.spans[entry, 1]
            moves_at = min(oldest + delay, stands) - SLACK * (oldest + newest + abs(delay))
            if estimates.now[0] < moves_at:
                due = min(due, moves_at)
            else:
                stands, offset = np.inf, (newest - oldest) - SLACK * (oldest + newest)
        write_end(index.least, first, node, stands if works else np.inf)
        write_end(index.offset, first, node, offset if works else np.inf)
        write_end(index.due, first, node, due)


@jitable
def write_end(ends: Floats, first: int, node: int, end: float) -> None:
    """Write a number of a leaf, and above it as far as it changes what is least."""
    before = ends[first + node]
    while end != before:
        ends[first + node] = end
        if node == 0:
            break
        node = (node - 1) >> BITS
        least = ends[first + node]
        if end >= least:
            if before != least:  # another is the least
                break
            end = find_least(ends, first + (node << BITS) + 1)
        before = least


@jitable
def find_least(ends: Floats, at: int) -> float:
    """Return the least of the ends below a node, in three steps instead of seven."""
    first = lesser(lesser(ends[at], ends[at + 1]), lesser(ends[at + 2], ends[at + 3]))
    return lesser(first, lesser(lesser(ends[at + 4], ends[at + 5]), lesser(ends[at + 6], ends[at + 7])))


@jitable
def lesser(one: float, other: float) -> float:
    """Return the lesser of two numbers, of which none is NaN: Numba's `min` asks for that."""
    return one if one < other else other


@jitable
def later(one: float, other: float) -> float:
    """Return the later of two times, of which none is NaN."""
    return other if other > one else one


@jitable
def pass_time(now: float, index: DeviceIndex, view: View, estimates: Estimates) -> None:
    """Update what has changed by the time of a decision, in the order of the devices."""
    note_time(now, index.clocks, estimates)
    device = find_due(index, estimates.now[0])
    while device != NO_DEVICE:
        update_estimate(device, index.clocks, estimates)
        note_free(index, view, device)
        device = find_due(index, estimates.now[0])


@jitable
def find_due(index: DeviceIndex, now: float) -> int:
    """Return the first device of which something changes until then, or NO_DEVICE."""
    found = NO_DEVICE
    for kind in range(len(index.first)):
        first, node = index.first[kind], 0
        if index.due[first] <= now:
            while node < index.leaves[kind]:
                node = (node << BITS) + 1
                while index.due[first + node] > now:
                    node += 1
            device = index.device[first + node]
            if found == NO_DEVICE or device < found:
                found = device
    return found


@jitable
def find_cheapest(index: DeviceIndex, kind: int, ready: float, cost: Any, arguments: Any) -> tuple[int, float]:
    """Return the device of a class where a start costs least, the first of equals, and that cost.

    `cost(start, *arguments)` must not fall as the start rises. A class without a device at work has the cost inf.
    `view.free` of that device is up to date; that of others need not be, where ends are estimated.
    """
    first, node = index.first[kind], 0
    earliest = bound_end(index, index.estimates, first)
    if earliest == np.inf:
        return 0, np.inf
    start = later(ready, earliest)
    least = cost(start, *arguments)
    while node < index.leaves[kind]:
        node = (node << BITS) + 1
        begin = later(ready, bound_end(index, index.estimates, first + node))
        while begin != start and cost(begin, *arguments) != least:  # a later start may cost the same, by rounding
            node += 1
            begin = later(ready, bound_end(index, index.estimates, first + node))
    return confirm(index, index.estimates, kind, node, least, ready, cost, arguments)


@jitable
def bound_end(index: DeviceIndex, estimates: Estimates | None, place: int) -> float:
    """Return a time before which no device below a node is free: when the first is, if no end moves."""
    end: float = index.least[place]
    if estimates is not None:
        now = estimates.now[0]
        end = lesser(end, later(estimates.now[1], (now + index.offset[place]) - SLACK * now))
    return end


@jitable
def confirm(
    index: DeviceIndex,
    estimates: Estimates | None,
    kind: int,
    node: int,
    least: float,
    ready: float,
    cost: Any,
    arguments: Any,
) -> tuple[int, float]:
    """Return the device of a leaf and its cost, if that is least; else look at all that could cost less."""
    first, best = index.first[kind], node
    if estimates is not None:
        found = weigh_leaf(index, estimates, first + node, ready, cost, arguments)
        at = 0 if found > least else NO_NODE
        while at != NO_NODE:
            bound = cost(max(ready, bound_end(index, estimates, first + at)), *arguments)
            if bound < found or (bound == found and first_leaf(at, index.leaves[kind]) < best):
                if at < index.leaves[kind]:
                    at = (at << BITS) + 1
                    continue
                value = weigh_leaf(index, estimates, first + at, ready, cost, arguments)
                if value < found or (value == found and at < best):
                    best, found = at, value
            while at > 0 and at & (WAYS - 1) == 0:  # the last below its node
                at = (at >> BITS) - 1
            at = at + 1 if at > 0 else NO_NODE
        least = found
    return index.device[first + best], least


@jitable
def weigh_leaf(
    index: DeviceIndex, estimates: Estimates, place: int, ready: float, cost: Any, arguments: Any
) -> float:
    """Return what a start on the device of a leaf costs by its estimated end, which is brought up to date."""
    device = index.device[place]
    update_estimate(device, index.clocks, estimates)
    return cost(max(ready, estimates.end[device]), *arguments)  # type: ignore[no-any-return]  # a cost is a float


@jitable
def first_leaf(node: int, leaves: int) -> int:
    """Return the first leaf below a node."""
    while node < leaves:
        node = (node << BITS) + 1
    return node


@jitable
def is_better(cost: float, device: int, least: float, best: int) -> bool:
    """Whether a device is better than the best so far: it costs less, or as much and has the lower index."""
    return cost < least or (cost == least and device < best)


@jitable
def end_of(start: float, seconds: float) -> float:
    """Return when a task ends that starts then: the cost that makes `find_cheapest` find the earliest finish."""
    return start + seconds


@jitable
def free_time(free: float) -> float:
    """Return when a device is free: the cost that makes `find_cheapest` find the least loaded one."""
    return free
