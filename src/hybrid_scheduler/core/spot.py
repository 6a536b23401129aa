"""Spot nodes: they leave with notice and come back; what ran there is saved in time, or begins anew.

From the notice on a node takes no more jobs. Who still runs there when it leaves goes back to the queue: with all
that it has done if its policy takes checkpoints and the notice is long enough for one, else without what it has done
since it last started.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.compiler import no_inline
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import NO_LIMIT, WHOLE, Machines
from hybrid_scheduler.core.nodes import Entries, Nodes
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError

NOTICE, LEAVE, RETURN = range(3)


class Departures(NamedTuple):
    """What becomes of nodes, in order of time."""

    moment: Floats
    node: Ints
    kind: Ints  # NOTICE, LEAVE or RETURN
    notice: Floats  # seconds between notice and leave
    seen: Ints  # one entry: how many of them have happened


class Stints(NamedTuple):
    """When jobs held what: a line for every GPU, or for the cores of a job without any; empty if it is not kept."""

    row: Ints
    node: Ints
    gpu: Ints  # -1: none
    begin: Floats
    end: Floats
    number: Ints  # one entry: how many there are, or would be with room for them
    since: Floats  # by job: when it started last
    interruptions: Ints  # by job
    lost: Floats  # by job: seconds that were in vain
    restart: Floats  # by job: seconds that its next start takes before it goes on


@dataclass(frozen=True)
class Spot:
    """How spot nodes behave: their share, mean seconds until one leaves and until it is back, the notice."""

    share: float
    stay: float = 14_400.0
    away: float = 1_800.0
    notice: float = 120.0

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"the share of spot nodes is {self.share:g}, expected a number above 0, at most 1")
        for name, value in (("stay", self.stay), ("away", self.away)):
            if not 0 < value < np.inf:
                raise InputError(f"spot nodes: {name} is {value:g} s, expected seconds above 0")
        if not 0 <= self.notice < np.inf:
            raise InputError(f"spot nodes: notice is {self.notice:g} s, expected 0 or more")

    def draw(self, jobs: Jobs, machines: Machines, seed: int) -> Departures:
        """Draw who leaves when; after twice the time that the jobs need if all goes well, everybody stays."""
        generator = np.random.default_rng([seed, 29])
        chosen = generator.permutation(len(machines))[: max(1, round(self.share * len(machines)))]
        capacity = machines.total_gpus or int(machines.cpu_milli.sum()) / WHOLE
        ended = np.where(np.isfinite(jobs.seconds), jobs.seconds, 0.0)
        horizon = float(jobs.arrival.max() + 2 * (jobs.width * ended).sum() / capacity + 2 * ended.max())
        lines = []
        for node in sorted(chosen.tolist()):
            now = 0.0
            while (leave := now + self.notice + float(generator.exponential(self.stay))) < horizon:
                now = leave + float(generator.exponential(self.away))
                lines += [(leave - self.notice, node, NOTICE), (leave, node, LEAVE), (now, node, RETURN)]
        return build_departures(lines, self.notice)


def build_departures(lines: list[tuple[float, int, int]], notice: float = 0.0) -> Departures:
    """Return moments, nodes and what becomes of them in order of time; all leave with the same notice."""
    lines = sorted(lines, key=lambda line: line[0])
    columns = np.array(lines, np.float64).reshape(-1, 3).T
    number = np.zeros(1, np.int64)
    node, kind = columns[1].astype(np.int64), columns[2].astype(np.int64)
    return Departures(columns[0].copy(), node, kind, np.full(len(lines), notice), number)


def build_stints(count: int, room: int) -> Stints:
    """Return room for so many lines of so many jobs."""
    whole, times = np.empty((3, room), np.int64), np.empty((2, room))
    seconds, often = np.zeros((2, count)), np.zeros(count, np.int64)
    kept = np.zeros(1, np.int64), np.full(count, np.nan), often
    return Stints(whole[0], whole[1], whole[2], times[0], times[1], *kept, seconds[0], seconds[1])


@no_inline
def close_node(node: int, sign: int, nodes: Nodes) -> None:
    """Let a node take no more jobs (`sign` 1: it owes more cores than there are), or take some again (-1)."""
    nodes.cpu[node] -= sign * NO_LIMIT
    nodes.version[node] += 1


@no_inline
def next_leave(now: float, nodes: Nodes, departures: Departures) -> int:
    """Close and open nodes as they announce and return, until one leaves: that event, or -1 if none is due."""
    while departures.seen[0] < len(departures.moment) and departures.moment[departures.seen[0]] <= now:
        event = departures.seen[0]
        departures.seen[0] += 1
        if departures.kind[event] == LEAVE:
            return int(event)
        close_node(departures.node[event], 1 if departures.kind[event] == NOTICE else -1, nodes)
    return -1


@no_inline
def runs_on(row: int, node: int, entries: Entries) -> bool:
    """Whether a job holds something of a node."""
    found = False
    for entry in range(entries.first[row], entries.first[row + 1]):
        found |= entries.node[entry] == node
    return found


@no_inline
def end_stint(row: int, now: float, saved: bool, cost: float, stints: Stints) -> bool:
    """Note that a job is interrupted; return whether it keeps what it has done since it started.

    It does not if it was not saved, or not yet restarted: then what it held was in vain.
    """
    if now > stints.since[row]:  # else it has not begun
        stints.interruptions[row] += 1
    if saved and now - stints.since[row] > stints.restart[row]:
        stints.restart[row] = cost
        return True
    stints.lost[row] += now - stints.since[row]
    return False


@no_inline
def keep_stint(row: int, now: float, entries: Entries, stints: Stints) -> None:
    """Write down what a job has held since it started; nothing if it stops at once."""
    if now == stints.since[row]:
        return
    for entry in range(entries.first[row], entries.first[row + 1]):
        line = stints.number[0]
        if line < len(stints.row):
            stints.row[line], stints.node[line], stints.gpu[line] = row, entries.node[entry], entries.gpu[entry]
            stints.begin[line], stints.end[line] = stints.since[row], now
        stints.number[0] += 1
