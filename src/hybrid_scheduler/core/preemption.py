"""Least attained service with preemption: who has had little goes first, and what runs may be interrupted for it.

After Gu et al. 2019 ("Tiresias: a GPU cluster manager for distributed deep learning"): jobs sink from queue to queue
as the width · seconds that they have had pass thresholds; within a queue the first to come goes first. Nobody has to
say how long a job will run. An interrupted job keeps what it has done, and runs `cost` seconds longer each time; if a
spot node leaves with less notice than that, it begins anew where it last started.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hybrid_scheduler.core.compiler import compile_loop, no_inline
from hybrid_scheduler.core.job_loop import DONE, REJECTED, WAITING, Scores, comes_later, place
from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import Machines
from hybrid_scheduler.core.nodes import (
    Entries,
    Nodes,
    Requests,
    build_entries,
    build_nodes,
    copy_nodes,
    find_pace,
    hold,
)
from hybrid_scheduler.core.packing import BEST, FitRule
from hybrid_scheduler.core.schedule import Schedule, build_requests, find_rejected
from hybrid_scheduler.core.spot import (
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

THRESHOLDS = (3600.0, 36_000.0)
"""GPU · seconds at which a job sinks to the next queue."""


class Service(NamedTuple):
    """What jobs have had and still need, by job."""

    remaining: Floats  # seconds at speed 1
    saved: Floats  # of them when it last started
    pace: Floats  # how fast it runs
    attained: Floats  # width · seconds
    since: Floats  # when it was last looked at while it runs, or will have been restarted; NaN while it does not
    queue: Ints
    active: Ints  # rows that have come and not ended, in order of service
    number: Ints  # one entry: how many they are
    chosen: Ints  # 1: shall run
    thresholds: Floats
    cost: Floats  # one entry


def schedule_by_service(
    jobs: Jobs,
    machines: Machines,
    fit: FitRule | None = None,
    *,
    thresholds: tuple[float, ...] = THRESHOLDS,
    cost: float = 30.0,
    departures: Departures | None = None,
    room: int = 0,
    interpreted: bool = False,
) -> Schedule:
    """Run jobs by least attained service; an interruption takes `cost` seconds: checkpoint and restart.

    Stints are kept in `room` lines at first, and in as many as there are if these do not suffice.
    """
    check_cost(jobs, cost)
    if list(thresholds) != sorted(set(thresholds)) or min(thresholds, default=1.0) <= 0:
        raise InputError(f"thresholds are {thresholds}, expected numbers above 0, each larger than the one before")
    rule = FitRule("best", BEST) if fit is None else fit
    rule.prepare(jobs, machines)
    ranks, count = np.arange(len(machines)), len(jobs)
    nodes, spare = build_nodes(machines, ranks), build_nodes(machines, ranks)
    requests, entries = build_requests(jobs, machines), build_entries(jobs)
    old = Entries(entries.first, entries.node.copy(), entries.gpu.copy())
    rejected = find_rejected(jobs, machines)
    start, finish = np.full(count, np.nan), np.full(count, np.nan)
    status = rejected.astype(np.uint8) * np.uint8(REJECTED)
    service = Service(
        *(jobs.seconds.copy(), jobs.seconds.copy(), np.ones(count), np.zeros(count), np.full(count, np.nan)),
        *(np.zeros(count, np.int64), np.empty(count, np.int64), np.zeros(1, np.int64)),
        *(np.zeros(count, np.int64), np.array(thresholds, np.float64), np.array([cost])),
    )
    moves = build_departures([]) if departures is None else departures._replace(seen=np.zeros(1, np.int64))
    stints = build_stints(count, max(room, 2 * len(entries.node)))
    scores = Scores(np.empty((0, 0)), np.zeros((0, 0), np.int64))
    run, numbers = (simulate_service, rule) if interpreted else compile_loop(simulate_service, {}, rule)
    run(numbers, requests, nodes, spare, entries, old, service, scores, start, finish, status, moves, stints)
    if stints.number[0] > len(stints.row):
        return schedule_by_service(
            jobs, machines, fit, thresholds=thresholds, cost=cost, departures=departures,
            room=int(stints.number[0]), interpreted=interpreted,
        )  # fmt: skip
    return Schedule(jobs, machines, start, finish, status, np.full(count, np.nan), entries, nodes, stints)


def check_cost(jobs: Jobs, cost: float) -> None:
    """Refuse what nobody can be interrupted with."""
    if not 0 <= cost < np.inf or not np.isfinite(jobs.seconds).all():
        raise InputError(f"an interruption costs {cost:g} s: give 0 or more, and jobs that end")


def simulate_service(
    rule: Any,
    requests: Requests,
    nodes: Nodes,
    spare: Nodes,
    entries: Entries,
    old: Entries,
    service: Service,
    scores: Scores,
    start: Floats,
    finish: Floats,
    status: Any,
    departures: Departures,
    stints: Stints,
) -> int:
    """Walk all events: a job comes, ends, or sinks to the next queue, a node leaves; return how many there were."""
    step, count, events = 0, len(requests.arrival), 0
    while True:
        now = next_moment(step, requests, service)
        if departures.seen[0] < len(departures.moment):
            now = min(now, departures.moment[departures.seen[0]])
        if now == np.inf:
            return events
        events += 1
        advance(now, requests, nodes, entries, service, finish, status, stints)
        move_nodes(now, requests, nodes, entries, service, departures, stints)
        while step < count and requests.arrival[step] <= now:
            if status[step] == WAITING:
                service.active[service.number[0]] = step
                service.number[0] += 1
            step += 1
        sort_active(service)
        interrupts = True
        while interrupts:  # who was interrupted may find room elsewhere
            interrupts = choose(rule, requests, nodes, spare, entries, old, service, scores)
            switch(now, requests, nodes, entries, old, service, start, stints)


@no_inline
def next_moment(step: int, requests: Requests, service: Service) -> float:
    """Return when the next job comes, or what runs ends or sinks."""
    now = np.inf
    if step < len(requests.arrival):
        now = requests.arrival[step]
    for place_in_list in range(service.number[0]):
        row = service.active[place_in_list]
        if not np.isnan(service.since[row]):
            now = min(now, service.since[row] + service.remaining[row] / service.pace[row])
            if service.queue[row] < len(service.thresholds):
                missing = service.thresholds[service.queue[row]] - service.attained[row]
                now = min(now, service.since[row] + missing / requests.width[row])
    return now


@no_inline
def advance(
    now: float,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    service: Service,
    finish: Floats,
    status: Any,
    stints: Stints,
) -> None:
    """Serve what runs until now; end and sink what is due."""
    kept = 0
    for place_in_list in range(service.number[0]):
        row = service.active[place_in_list]
        if not np.isnan(service.since[row]):
            end = service.since[row] + service.remaining[row] / service.pace[row]
            level = service.queue[row]
            sinks = False
            if level < len(service.thresholds):
                missing = service.thresholds[level] - service.attained[row]
                sinks = service.since[row] + missing / requests.width[row] <= now
            if now > service.since[row]:  # else it is still being restarted
                service.attained[row] += (now - service.since[row]) * requests.width[row]
                service.remaining[row] -= (now - service.since[row]) * service.pace[row]
                service.since[row] = now
            if end <= now:
                service.remaining[row], finish[row], status[row] = 0.0, now, DONE
                hold(row, -1, requests, entries, nodes)
                keep_stint(row, now, entries, stints)
                service.since[row] = np.nan
                continue
            if sinks:
                service.attained[row] = max(service.attained[row], service.thresholds[level])
                service.queue[row] += 1
        service.active[kept] = row
        kept += 1
    service.number[0] = kept


@no_inline
def move_nodes(
    now: float,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    service: Service,
    departures: Departures,
    stints: Stints,
) -> None:
    """Close and open nodes that leave and return; interrupt who runs on one that leaves."""
    event = next_leave(now, nodes, departures)
    while event >= 0:
        saved = service.cost[0] <= departures.notice[event]
        for place_in_list in range(service.number[0]):
            row = service.active[place_in_list]
            if not np.isnan(service.since[row]) and runs_on(row, departures.node[event], entries):
                interrupt(row, now, saved, requests, nodes, entries, service, stints)
        event = next_leave(now, nodes, departures)


@no_inline
def interrupt(
    row: int,
    now: float,
    saved: bool,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    service: Service,
    stints: Stints,
) -> None:
    """Stop a job before its end: if it is saved it goes on from here, else where it last started."""
    hold(row, -1, requests, entries, nodes)
    keep_stint(row, now, entries, stints)
    service.since[row] = np.nan
    if not end_stint(row, now, saved, service.cost[0], stints):
        service.remaining[row] = service.saved[row]


@no_inline
def sort_active(service: Service) -> None:
    """Sort by queue, then by arrival; quick if it is nearly sorted."""
    for place_in_list in range(1, service.number[0]):
        row, at = service.active[place_in_list], place_in_list
        while at > 0 and comes_later(service.active[at - 1], row, service.queue):
            service.active[at] = service.active[at - 1]
            at -= 1
        service.active[at] = row


@no_inline
def choose(
    rule: Any,
    requests: Requests,
    nodes: Nodes,
    spare: Nodes,
    entries: Entries,
    old: Entries,
    service: Service,
    scores: Scores,
) -> bool:
    """Choose who shall run, in order of service; return whether somebody is interrupted for somebody before it."""
    copy_nodes(nodes, spare)
    for place_in_list in range(service.number[0]):
        row = service.active[place_in_list]
        service.chosen[row] = 0 if np.isnan(service.since[row]) else 1
        for entry in range(entries.first[row], entries.first[row + 1]):
            old.node[entry], old.gpu[entry] = entries.node[entry], entries.gpu[entry]
    interrupts = False
    last = service.number[0] - 1  # whoever is behind it has been interrupted, or does not run
    for place_in_list in range(service.number[0]):
        row = service.active[place_in_list]
        if not np.isnan(service.since[row]):
            continue
        found = place(rule, row, requests, spare, entries, scores, False)
        first_tried = last
        while not found and last > place_in_list:
            victim = service.active[last]
            if service.chosen[victim] == 1 and service.queue[victim] > service.queue[row]:
                hold(victim, -1, requests, old, spare)
                service.chosen[victim] = 0
                found = place(rule, row, requests, spare, entries, scores, False)
            last -= 1
        if found:
            hold(row, 1, requests, entries, spare)
            service.chosen[row] = 1
            interrupts |= last < first_tried
        else:  # interrupting them would not have helped
            for undone in range(first_tried, last, -1):
                victim = service.active[undone]
                if not np.isnan(service.since[victim]) and service.chosen[victim] == 0:
                    hold(victim, 1, requests, old, spare)
                    service.chosen[victim] = 1
            last = first_tried
    return interrupts


@no_inline
def switch(
    now: float,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    old: Entries,
    service: Service,
    start: Floats,
    stints: Stints,
) -> None:
    """Interrupt what shall no longer run, then start what shall."""
    for place_in_list in range(service.number[0]):
        row = service.active[place_in_list]
        if service.chosen[row] == 0 and not np.isnan(service.since[row]):
            interrupt(row, now, True, requests, nodes, old, service, stints)
    for place_in_list in range(service.number[0]):
        row = service.active[place_in_list]
        if service.chosen[row] == 1 and np.isnan(service.since[row]):
            hold(row, 1, requests, entries, nodes)
            service.since[row], stints.since[row] = now + stints.restart[row], now
            service.pace[row] = find_pace(row, requests, entries, nodes)
            service.saved[row] = service.remaining[row]
            if np.isnan(start[row]):
                start[row] = now
