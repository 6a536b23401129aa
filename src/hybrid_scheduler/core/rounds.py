"""Rounds: time is shared out by a policy, and jobs take turns so that each gets its share on each model of GPU.

After Narayanan et al. 2020 ("Heterogeneity-aware cluster scheduling policies for deep learning workloads", Gavel).
Whenever jobs have come or ended, the policy says what share of the time each shall run on each kind of device. In
every round those run that are furthest behind their shares. Who stays on its devices goes on; who has to leave is
saved, and runs `cost` seconds longer. What a job leaves when it ends is free from the next round on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.compiler import compile_loop, no_inline
from hybrid_scheduler.core.job_loop import DONE, REJECTED, Scores, place
from hybrid_scheduler.core.jobs import Bools, Jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.nodes import Entries, Nodes, Requests, build_entries, build_nodes, find_pace, hold
from hybrid_scheduler.core.packing import BEST, FitRule
from hybrid_scheduler.core.preemption import check_cost
from hybrid_scheduler.core.schedule import Schedule, build_requests, find_rejected
from hybrid_scheduler.core.spot import (
    LEAVE,
    Departures,
    Stints,
    build_departures,
    build_stints,
    end_stint,
    keep_stint,
    next_leave,
    runs_on,
)
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.errors import InputError

ROUND = 360.0
"""Seconds of a round, as in the paper."""
MOST_ROUNDS = 200_000
"""Rounds that one job may take: two years of the usual ones."""


class Demand(NamedTuple):
    """What a policy shares time by, job by job: devices are GPUs of a model, or cores in the last column."""

    speed: Floats  # by job and kind of device; 0: it does not run there
    width: Floats  # devices that it holds
    weight: Floats
    remaining: Floats  # seconds at speed 1 that it has still to run, as requested
    asked: Floats  # throughput that keeps its deadline; 0: it has none, inf: nothing keeps it
    amount: Floats  # by kind: devices that there are


Policy = Callable[[Demand], Floats]
"""Returns what share of the time each job shall run on each kind of device."""


class Turns(NamedTuple):
    """What jobs have had and still need, by job."""

    remaining: Floats  # seconds at speed 1
    saved: Floats  # of them when it last started
    kind: Ints  # devices that it runs on; -1: it waits
    goal: Ints  # devices that it shall run on in this round; -1: it shall wait
    had: Floats  # by job and kind: seconds of the last round


def schedule_in_rounds(
    jobs: Jobs,
    machines: Machines,
    policy: Policy,
    fit: FitRule | None = None,
    *,
    seconds: float = ROUND,
    cost: float = 30.0,
    departures: Departures | None = None,
    interpreted: bool = False,
) -> Schedule:
    """Run jobs in rounds of so many seconds; an interruption takes `cost` seconds: checkpoint and restart."""
    check_cost(jobs, cost)
    if not cost < seconds < np.inf:  # else jobs might take turns for ever
        raise InputError(f"a round takes {seconds:g} s, expected more than the {cost:g} s of an interruption")
    if (longest := float(jobs.seconds.max(initial=0.0))) > MOST_ROUNDS * seconds:
        raise InputError(
            f"a job runs {longest:g} s, more than {MOST_ROUNDS:,} rounds: give period={longest / 1000:.0f}"
        )
    rule = FitRule("best", BEST) if fit is None else fit
    rule.prepare(jobs, machines)
    return _Rounds(jobs, machines, policy, rule, seconds, cost, departures, interpreted).run()


class _Rounds:
    """The state of a run."""

    def __init__(
        self,
        jobs: Jobs,
        machines: Machines,
        policy: Policy,
        rule: FitRule,
        seconds: float,
        cost: float,
        departures: Departures | None,
        interpreted: bool,
    ) -> None:
        count = len(jobs)
        self.jobs, self.machines, self.policy, self.seconds, self.cost = jobs, machines, policy, seconds, cost
        self.nodes, self.entries = build_nodes(machines, np.arange(len(machines))), build_entries(jobs)
        self.requests = build_requests(jobs, machines)
        self.accepted = self.requests.models.copy()
        self.speed = list_speeds(jobs, machines)
        self.turns = Turns(
            *(jobs.seconds.copy(), jobs.seconds.copy(), np.full(count, -1), np.full(count, -1)),
            np.zeros((count, len(count_devices(machines)))),
        )
        self.moves = build_departures([]) if departures is None else departures._replace(seen=np.zeros(1, np.int64))
        self.stints = build_stints(count, 2 * len(self.entries.node))
        self.owed = np.zeros(self.speed.shape)
        self.share = np.zeros(self.speed.shape)
        self.start, self.finish = np.full(count, np.nan), np.full(count, np.nan)
        self.status = find_rejected(jobs, machines).astype(np.uint8) * np.uint8(REJECTED)
        self.rule = rule
        self.serve: Any = serve_round
        self.numbers: Any = rule
        if not interpreted:
            self.serve, self.numbers = compile_loop(serve_round, {}, rule)

    def run(self) -> Schedule:
        """Go from round to round until all have ended, or nothing will ever change."""
        jobs, known = self.jobs, np.empty(0, np.int64)
        begin = float(jobs.arrival.min(initial=0.0))
        while True:
            changed = self._move_nodes(begin)
            active = np.flatnonzero((jobs.arrival <= begin) & (self.status == 0))
            if not len(active):
                later = jobs.arrival[(jobs.arrival > begin) & (self.status == 0)]
                if not len(later):
                    break
                begin = float(later.min())
                continue
            if changed or not np.array_equal(active, known):
                self._share_out(active, begin)
                known = active
            end = min(begin + self.seconds, self._next_leave(begin))
            self._serve(active, begin, end)
            if self._stuck(active):
                break
            begin = end
        return Schedule(
            *(jobs, self.machines, self.start, self.finish, self.status, np.full(len(jobs), np.nan)),
            *(self.entries, self.nodes, self.stints),
        )

    def _next_leave(self, now: float) -> float:
        leaves = self.moves.moment[(self.moves.kind == LEAVE) & (self.moves.moment > now)]
        return float(leaves.min(initial=np.inf))

    def _stuck(self, active: Ints) -> bool:
        """Whether nobody runs and nothing will come."""
        idle = bool((self.turns.kind[active] < 0).all() and (self.status[active] == 0).all())
        later = self.jobs.arrival.max() > self.jobs.arrival[active].max()
        return idle and not later and bool(self.moves.seen[0] == len(self.moves.moment))

    def _move_nodes(self, now: float) -> bool:
        """Close and open nodes that leave and return by now; whoever runs on one that leaves is interrupted."""
        first, moves = int(self.moves.seen[0]), self.moves
        while (event := next_leave(now, self.nodes, moves)) >= 0:
            for row in np.flatnonzero(self.turns.kind >= 0).tolist():
                if runs_on(row, int(moves.node[event]), self.entries):
                    self._grow()
                    saved = bool(self.cost <= moves.notice[event])
                    state = (self.requests, self.nodes, self.entries, self.turns, self.stints)
                    interrupt(row, now, saved, self.cost, *state)
        return bool(moves.seen[0] > first)

    def _share_out(self, active: Ints, now: float) -> None:
        """Ask the policy for shares of those that are here."""
        jobs, done = self.jobs, self.jobs.seconds[active] - self.turns.remaining[active]
        there = count_devices(self.machines, self.nodes.cpu >= 0)
        left = np.maximum(jobs.requested[active] - done, self.seconds)  # longer than said: a round more
        asked = self._ask_for(active, left, now)
        demand = Demand(self.speed[active], jobs.width[active], jobs.weight[active], left, asked, there)
        self.share[:] = 0.0
        self.share[active] = self.policy(demand)

    def _ask_for(self, active: Ints, left: Floats, now: float) -> Floats:
        """Return the throughputs that keep deadlines a round early, since turns are whole rounds, or just in time."""
        until, fastest = self.jobs.deadline[active] - now, self.speed[active].max(axis=1)
        with np.errstate(divide="ignore"):
            just, early = (left / np.maximum(until - margin, 0.0) for margin in (0.0, self.seconds))
        return np.where(just <= fastest, np.minimum(early, fastest), np.inf)

    def _serve(self, active: Ints, begin: float, end: float) -> None:
        """Run a round: those first that are owed most of what the policy shares out, then whoever finds room."""
        self.owed[active] += self.share[active] * (end - begin)
        rows, kinds = np.nonzero(self.speed[active] > 0)
        rows = active[rows]
        order = np.lexsort((kinds, rows, -self.owed[rows, kinds], self.share[rows, kinds] <= 0))
        self.turns.had[active] = 0.0
        self._grow()
        scores = Scores(np.empty((0, 0)), np.zeros((0, 0), np.int64))
        room = count_devices(self.machines, self.nodes.cpu >= 0)
        arguments = (rows[order], kinds[order], self.accepted, room, begin, end, self.cost)
        state = (self.requests, self.nodes, self.entries, self.turns, self.stints, scores)
        self.serve(self.numbers, *arguments, *state, self.start, self.finish, self.status)
        self.owed[active] -= self.turns.had[active]

    def _grow(self) -> None:
        """Let there be room for what may be written down next."""
        wanted = int(self.stints.number[0]) + len(self.entries.node)
        if wanted > len(self.stints.row):
            columns = ("row", "node", "gpu", "begin", "end")
            longer = {name: np.resize(getattr(self.stints, name), 2 * wanted) for name in columns}
            self.stints = self.stints._replace(**longer)


def list_speeds(jobs: Jobs, machines: Machines) -> Floats:
    """Return how fast each job runs on the GPUs of each model, and in the last column on cores; 0 where it cannot."""
    accepted = jobs.accepted_models(machines)[:, None] >> np.arange(len(machines.models)) & 1 == 1
    gpu = np.where(accepted & (jobs.gpus > 0)[:, None], jobs.speeds_on(machines), 0.0)
    return np.column_stack([gpu, np.where(jobs.gpus > 0, 0.0, 1.0)])


def count_devices(machines: Machines, there: Bools | None = None) -> Floats:
    """Return how many GPUs of each model there are, and cores."""
    here = np.ones(len(machines), bool) if there is None else there
    names = np.array(machines.model)
    gpus = [float(machines.gpus[here & (names == name)].sum()) for name in machines.models]
    return np.array([*gpus, float(machines.cpu_milli[here].sum()) / WHOLE])


def serve_round(
    rule: Any,
    rows: Ints,
    kinds: Ints,
    accepted: Ints,
    room: Floats,
    begin: float,
    end: float,
    cost: float,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    turns: Turns,
    stints: Stints,
    scores: Scores,
    start: Floats,
    finish: Floats,
    status: Any,
) -> int:
    """Let jobs take their turns; rows and kinds of devices come in order of service. Return how many ran."""
    for at in range(len(rows)):
        turns.goal[rows[at]] = -1
    for at in range(len(rows)):
        if turns.goal[rows[at]] < 0 and requests.width[rows[at]] <= room[kinds[at]]:
            turns.goal[rows[at]] = kinds[at]
            room[kinds[at]] -= requests.width[rows[at]]
    for at in range(len(rows)):
        if turns.kind[rows[at]] >= 0 and turns.goal[rows[at]] != turns.kind[rows[at]]:
            interrupt(rows[at], begin, True, cost, requests, nodes, entries, turns, stints)
    for filling in range(2):  # what is left by those who found no room is for whoever fits
        for at in range(len(rows)):
            row = rows[at]
            if turns.kind[row] < 0 and (filling == 1 or turns.goal[row] == kinds[at]):
                requests.models[row] = accepted[row] & (1 << kinds[at])
                if place(rule, row, requests, nodes, entries, scores, False):
                    hold(row, 1, requests, entries, nodes)
                    turns.kind[row], turns.saved[row], stints.since[row] = kinds[at], turns.remaining[row], begin
                    if np.isnan(start[row]):
                        start[row] = begin
    ran = 0
    for at in range(len(rows)):
        if turns.kind[rows[at]] == kinds[at]:
            run_until(end, begin, rows[at], requests, nodes, entries, turns, stints, finish, status)
            ran += 1
    return ran


@no_inline
def run_until(
    end: float,
    begin: float,
    row: int,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    turns: Turns,
    stints: Stints,
    finish: Floats,
    status: Any,
) -> None:
    """Let a job run to the end of a round, or to its own."""
    pace, kind = find_pace(row, requests, entries, nodes), turns.kind[row]
    ready = max(begin, stints.since[row] + stints.restart[row])
    done = ready + turns.remaining[row] / pace
    turns.had[row, kind] = min(done, end) - begin
    if done <= end:
        turns.remaining[row], finish[row], status[row], turns.kind[row] = 0.0, done, DONE, -1
        hold(row, -1, requests, entries, nodes)
        keep_stint(row, done, entries, stints)
    else:
        turns.remaining[row] -= max(end - ready, 0.0) * pace


@no_inline
def interrupt(
    row: int,
    now: float,
    saved: bool,
    cost: float,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    turns: Turns,
    stints: Stints,
) -> None:
    """Stop a job before its end: if it is saved it goes on from here, else where it last started."""
    hold(row, -1, requests, entries, nodes)
    keep_stint(row, now, entries, stints)
    turns.kind[row] = -1
    if not end_stint(row, now, saved, cost, stints):
        turns.remaining[row] = turns.saved[row]
