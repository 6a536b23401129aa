"""When and where the jobs of a shared cluster ran; `schedule_jobs` runs the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.compiler import compile_loop
from hybrid_scheduler.core.job_loop import (
    CONSERVATIVE,
    DONE,
    EASY,
    NO_BACKFILL,
    REJECTED,
    TURNED_AWAY,
    Outcome,
    Phases,
    Profile,
    Queue,
    Rules,
    Scores,
    simulate_jobs,
)
from hybrid_scheduler.core.jobs import Bools, Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.nodes import Entries, Nodes, Requests, build_entries, build_nodes
from hybrid_scheduler.core.packing import BEST, FitRule
from hybrid_scheduler.core.spot import Departures, Stints, build_departures, build_stints
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError, unknown_name

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.job_orders import JobOrder

BACKFILLING = {"none": NO_BACKFILL, "easy": EASY, "conservative": CONSERVATIVE}
LINES = ("row", "node", "gpu", "begin", "end")  # of stints
NO_PHASES = Phases(np.empty(0), np.empty((0, 0)), np.empty(0, np.int64), np.empty(0, np.bool_))
MAX_CACHED = 20_000_000
"""Scores that are kept; with more kinds of jobs · nodes they are computed anew for every decision."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """What became of jobs on machines: start and finish (NaN if it never ran), and what each of them held."""

    jobs: Jobs
    machines: Machines
    start: Floats
    finish: Floats
    status: npt.NDArray[np.uint8]
    reserved: Floats  # the start that a waiting job was promised first; NaN: none
    entries: Entries
    free: Nodes  # what was free at the end
    kept: Stints | None = None  # None: nobody was interrupted

    @property
    def ran(self) -> Bools:
        """Which jobs ran."""
        return np.equal(self.status, DONE)

    @property
    def turned_away(self) -> Bools:
        """Which jobs found no room when they came, where nobody waits."""
        return np.equal(self.status, TURNED_AWAY)

    @property
    def rejected(self) -> Bools:
        """Which jobs fit no machine even if all is free."""
        return np.equal(self.status, REJECTED)

    @property
    def waiting(self) -> Floats:
        """Seconds from arrival to start."""
        return self.start - self.jobs.arrival

    @property
    def served(self) -> Floats:
        """Seconds that each job held what it asked for; more than it needed if it was interrupted."""
        if self.kept is None:
            return np.where(self.ran, self.finish - self.start, 0.0)
        lines = self.list_stints()
        return np.bincount(lines.row, lines.end - lines.begin, len(self.jobs)) / np.maximum(self.jobs.gpus, 1)

    @property
    def interruptions(self) -> Ints:
        """How often each job was interrupted."""
        return np.zeros(len(self.jobs), np.int64) if self.kept is None else self.kept.interruptions

    def list_stints(self) -> Stints:
        """Return when jobs held what: a line for every GPU, or for the cores of a job without any."""
        if self.kept is not None:
            number = int(self.kept.number[0])
            return self.kept._replace(**{name: getattr(self.kept, name)[:number] for name in LINES})
        row = np.repeat(np.arange(len(self.jobs)), np.diff(self.entries.first))
        own = self.ran[row]
        lines = (row[own], self.entries.node[own], self.entries.gpu[own])
        times = (self.start[row[own]], self.finish[row[own]])
        nothing = np.zeros(len(self.jobs))
        return Stints(*lines, *times, np.array([own.sum()]), self.start, self.interruptions, nothing, nothing)


def schedule_jobs(
    jobs: Jobs,
    machines: Machines,
    order: JobOrder,
    backfill: str = "none",
    fit: FitRule | None = None,
    *,
    keep_head: bool = True,
    waits: bool = True,
    rank: Ints | None = None,
    typical: Jobs | None = None,
    departures: Departures | None = None,
    phases: Phases = NO_PHASES,
    room: int = 0,
    interpreted: bool = False,
) -> Schedule:
    """Run jobs on machines: `order` sorts the queue, `backfill` says who may pass its head, `fit` chooses nodes.

    `waits=False` turns a job away that finds no room when it comes. `rank` is the order in which nodes are looked at,
    which decides between equal scores; `typical` are jobs like those to come, the same ones if absent. `departures`
    are spot nodes that leave and return; stints are then kept, in `room` lines at first. `phases` are later keys and
    rules of an order that changes its mind.
    """
    rule = FitRule("best", BEST) if fit is None else fit
    _check_rules(jobs, machines, backfill, departures)
    ranks = np.arange(len(machines)) if rank is None else rank
    nodes, spare, common = (build_nodes(machines, ranks) for _ in range(3))
    requests, entries, count = build_requests(jobs, machines), build_entries(jobs), len(jobs)
    kinds = int(requests.kind.max(initial=0)) + 1
    cached = rule.cached and len(machines) > 1 and kinds * len(machines) <= MAX_CACHED
    shape = (kinds, len(machines)) if cached else (0, 0)
    moments = 6 * count + 2 if BACKFILLING[backfill] == CONSERVATIVE else 0
    users = int(requests.user.max(initial=0)) + 1
    queue = Queue(
        *(np.empty(count, np.int64), np.empty(count), np.zeros(3, np.int64), np.empty(count, np.int64)),
        *(np.empty(count), np.empty(count, np.int64), np.zeros(1, np.int64), np.zeros(users)),
        np.full(count, np.nan),
    )
    profile = Profile(np.empty(moments), *(np.empty(moments, np.int64) for _ in range(3)))
    rejected = find_rejected(jobs, machines)
    unknown = np.full((3, count), np.nan)
    out = Outcome(unknown[0], unknown[1], rejected.astype(np.uint8) * np.uint8(REJECTED), unknown[2])
    rules = Rules(BACKFILLING[backfill], keep_head, waits, cached, order.checkpoint)
    stints = build_stints(0, 0)
    if departures is not None:
        stints = build_stints(count, max(room, 2 * len(entries.node)))
        requests = requests._replace(
            seconds=requests.seconds.copy(), requested=requests.requested.copy(), longest=requests.longest.copy()
        )
    scores = Scores(np.empty(shape), np.zeros(shape, np.int64))
    rule.prepare(jobs if typical is None else typical, machines)
    run, numbers = (simulate_jobs, rule) if interpreted else compile_loop(simulate_jobs, {}, rule)
    # What is shared with `nodes` is counted once: it only changes there.
    shared = common._replace(sizes=nodes.sizes)
    moves = build_departures([]) if departures is None else departures._replace(seen=np.zeros(1, np.int64))
    arguments = (requests, nodes, spare, shared, entries, queue, scores, profile, out, rules, moves, stints)
    keys = order.keys(jobs)
    run(numbers, keys._replace(static=keys.static.copy()) if len(phases.begin) else keys, *arguments, phases)
    if stints.number[0] > len(stints.row):
        return schedule_jobs(
            jobs, machines, order, backfill, fit, keep_head=keep_head, waits=waits, rank=rank, typical=typical,
            departures=departures, phases=phases, room=int(stints.number[0]), interpreted=interpreted,
        )  # fmt: skip
    ran = out.status == DONE
    entries.node[np.repeat(~ran, np.diff(entries.first))] = -1
    entries.gpu[np.repeat(~ran, np.diff(entries.first))] = -1
    kept = None if departures is None else stints
    return Schedule(jobs, machines, *out[:2], out.status, out.reserved, entries, nodes, kept)


def _check_rules(jobs: Jobs, machines: Machines, backfill: str, departures: Departures | None) -> None:
    if backfill not in BACKFILLING:
        raise unknown_name("backfilling", backfill, BACKFILLING)
    if backfill == "conservative" and (len(machines) > 1 or (jobs.gpu_milli[jobs.gpus > 0] < WHOLE).any()):
        raise InputError("conservative backfilling plans on one pool without shares of GPUs: take easy or none")
    if departures is not None and (backfill == "conservative" or not np.isfinite(jobs.seconds).all()):
        raise InputError("on spot nodes nobody plans far ahead, and jobs must end: take easy or none, and other jobs")


def build_requests(jobs: Jobs, machines: Machines) -> Requests:
    """Return the columns that the loop reads."""
    models = jobs.accepted_models(machines)
    asked = np.column_stack(
        [jobs.cpu_milli, jobs.memory_mib, jobs.gpus, jobs.gpu_milli, jobs.gpu_memory_mib, models, jobs.span]
    )
    speed = jobs.speeds_on(machines)
    named = bool((speed != 1.0).any())
    accepted = (models[:, None] >> np.arange(speed.shape[1]) & 1 == 1) & (jobs.gpus > 0)[:, None]
    slowest = np.where(accepted, speed, np.inf).min(axis=1, initial=np.inf)
    return Requests(
        *(jobs.arrival, jobs.seconds, jobs.requested, jobs.width, jobs.cpu_milli, jobs.memory_mib, jobs.gpus),
        *(jobs.gpu_milli, jobs.gpu_memory_mib, models),
        speed=np.ascontiguousarray(speed) if named else np.ones((0, 0)),
        longest=jobs.requested / np.where(np.isfinite(slowest), slowest, 1.0) if named else jobs.requested,
        span=jobs.span.astype(np.int64),
        kind=find_kinds(asked) if len(machines) > 1 else np.zeros(len(jobs), np.int64),
        user=np.unique(jobs.user, return_inverse=True)[1].astype(np.int64),
        weight=jobs.weight,
        deadline=jobs.deadline,
    )


def find_kinds(asked: Ints) -> Ints:
    """Return the same number for equal rows of a table."""
    return np.unique(asked, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def find_rejected(jobs: Jobs, machines: Machines) -> Bools:
    """Return which jobs fit no machine, however long they wait."""
    models, rejected = jobs.accepted_models(machines), np.ones(len(jobs), bool)
    bits = {name: 1 << place for place, name in enumerate(machines.models)}
    offers = zip(
        *(machines.cpu_milli, machines.memory_mib, machines.gpus, machines.gpu_memory_mib, machines.model),
        strict=True,
    )
    several = jobs.span & (jobs.gpus > 0)
    parts = np.maximum(jobs.gpus, 1)
    cpu, memory = -(-jobs.cpu_milli // parts), -(-jobs.memory_mib // parts)
    room = np.zeros(len(jobs), np.int64)
    for kind, number in _count(offers).items():
        cores, mib, gpus, vram, model = kind
        suits = (jobs.gpus == 0) | ((models & bits.get(model, 0) > 0) & (jobs.gpu_memory_mib <= vram))
        rejected &= ~(suits & (jobs.cpu_milli <= cores) & (jobs.memory_mib <= mib) & (jobs.gpus <= gpus))
        usable = np.minimum(gpus, np.minimum(cores // np.maximum(cpu, 1), mib // np.maximum(memory, 1)))
        room += np.where(suits, number * usable, 0)
    return rejected & ~(several & (room >= jobs.gpus))


def _count(offers: zip[tuple[int, int, int, int, str]]) -> dict[tuple[int, int, int, int, str], int]:
    counted: dict[tuple[int, int, int, int, str], int] = {}
    for each in offers:
        counted[each] = counted.get(each, 0) + 1
    return counted
