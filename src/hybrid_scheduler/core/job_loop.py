"""The loop of shared clusters: jobs arrive, start and end; an order sorts the queue, a fit rule chooses nodes.

Everything here is plain Python that Numba can also compile, as in `loop.py`. One loop runs all orders and fit rules,
which differ in numbers only. Jobs are bound late: whenever something ends or arrives, the head of the queue starts if
it finds room. If it does not, backfilling decides who may pass it: nobody, those that do not delay its reservation
(EASY, Lifka 1995), or those that delay nobody's (conservative, Mu'alem and Feitelson 2001). A head that waits for
room keeps its place unless the rules say otherwise, so that its reservation is never given away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_scheduler.core.compiler import jitable, no_inline
from hybrid_scheduler.core.loop import pop, push
from hybrid_scheduler.core.machines import WHOLE
from hybrid_scheduler.core.nodes import (
    Entries,
    Nodes,
    Requests,
    copy_nodes,
    count_usable,
    find_pace,
    fits,
    hold,
    intersect,
    name_spanned_gpus,
    name_whole_gpus,
    view_job,
)
from hybrid_scheduler.core.packing import pick_gpu, score_node
from hybrid_scheduler.core.spot import Departures, Stints, end_stint, keep_stint, next_leave, runs_on
from hybrid_scheduler.core.tasks import Floats, Ints

NO_BACKFILL, EASY, CONSERVATIVE = range(3)
WAITING, DONE, REJECTED, TURNED_AWAY = range(4)
LENGTH, HELD, RUNNING = range(3)
"""Entries of `Queue.state`: jobs that wait, whether the head waits for room, jobs that run."""


class Keys(NamedTuple):
    """What the queue is sorted by, smallest first: static + rate · waiting ** power + charge · usage of its user."""

    static: Floats
    rate: Floats  # by job; empty: keys do not change while jobs wait
    charge: Floats  # by job, or empty
    power: int


class Rules(NamedTuple):
    """What does not change during a run."""

    backfill: int
    keep_head: bool  # a head that waits for room is not overtaken by what arrives later
    waits: bool  # False: a job that finds no room when it arrives is turned away
    cached: bool  # scores depend on the kind of a job and the state of a node only
    checkpoint: float  # seconds that it takes to save a job and to start it again


class Phases(NamedTuple):
    """When an order changes its mind: from a moment on it has other keys, and other rules of the head."""

    begin: Floats
    static: Floats  # keys by phase and job
    backfill: Ints
    keep_head: npt.NDArray[np.bool_]


class Queue(NamedTuple):
    """Who waits, in the policy's order, and who runs."""

    row: Ints
    key: Floats  # by job
    state: Ints
    running: Ints  # in order of their estimated ends
    estimated: Floats  # by job: start + requested seconds
    ends: Ints  # heap of those that run, by their actual ends
    ends_size: Ints
    usage: Floats  # by user: width · seconds that were charged
    planned: Floats  # by job: when it shall start, with conservative backfilling; NaN: not planned yet


class Scores(NamedTuple):
    """Scores of nodes that are still true, by kind of job and node."""

    value: Floats
    version: Ints


class Profile(NamedTuple):
    """What is free from moment to moment, for conservative backfilling on a pool."""

    moment: Floats
    cpu: Ints
    memory: Ints
    gpus: Ints


class Outcome(NamedTuple):
    """What the loop writes, by job."""

    start: Floats
    finish: Floats
    status: npt.NDArray[np.uint8]
    reserved: Floats  # the first start that a head was promised; NaN if it never waited with a reservation


def simulate_jobs(
    rule: Any,
    keys: Keys,
    requests: Requests,
    nodes: Nodes,
    spare: Nodes,
    common: Nodes,
    entries: Entries,
    queue: Queue,
    scores: Scores,
    profile: Profile,
    out: Outcome,
    rules: Rules,
    departures: Departures,
    stints: Stints,
    phases: Phases,
) -> int:
    """Walk all events; return the number of passes through the queue."""
    step, count, passes, now = 0, len(requests.arrival), 0, -np.inf
    passing, keep_head, phase = rules.backfill, rules.keep_head, 0
    while True:
        now = next_due(now, queue) if rules.backfill == CONSERVATIVE else np.inf
        if step < count:
            now = min(now, requests.arrival[step])
        if queue.ends_size[0] > 0:
            now = min(now, out.finish[queue.ends[0]])
        if departures.seen[0] < len(departures.moment):
            now = min(now, departures.moment[departures.seen[0]])
        if now == np.inf:
            return passes
        end_jobs(now, requests, nodes, entries, queue, out, stints)
        if departures.seen[0] < len(departures.moment):
            move_nodes(now, keys, requests, nodes, entries, queue, out, rules, departures, stints)
        while phase < len(phases.begin) and phases.begin[phase] <= now:
            passing, keep_head = phases.backfill[phase], phases.keep_head[phase]
            change_keys(now, phase, phases, keys, requests, queue)
            phase += 1
        while step < count and requests.arrival[step] <= now:
            if out.status[step] == WAITING:
                if rules.waits:
                    enqueue(step, compute_key(step, now, keys, requests, queue), queue)
                elif place(rule, step, requests, nodes, entries, scores, rules.cached):
                    start(step, now, requests, entries, nodes, queue, out, stints)
                else:
                    out.status[step] = TURNED_AWAY
            step += 1
        if queue.state[LENGTH] == 0:
            continue
        passes += 1
        if len(keys.rate) > 0:
            sort_queue(queue.state[HELD] if keep_head else 0, now, keys, requests, queue)
        if rules.backfill == CONSERVATIVE:
            plan_all(now, rule, requests, nodes, entries, queue, scores, profile, out, stints)
            continue
        head = 0
        while head < queue.state[LENGTH]:
            row = queue.row[head]
            if not place(rule, row, requests, nodes, entries, scores, rules.cached):
                break
            start(row, now, requests, entries, nodes, queue, out, stints)
            head += 1
            if len(keys.charge) > 0:  # the start has changed what its user was charged
                sort_queue(head, now, keys, requests, queue)
        drop_first(head, queue)
        queue.state[HELD] = 1 if keep_head and queue.state[LENGTH] > 0 else 0
        if passing == EASY and queue.state[LENGTH] > 1:
            backfill(now, rule, requests, nodes, spare, common, entries, queue, scores, out, rules, stints)


@jitable
def compute_key(row: int, now: float, keys: Keys, requests: Requests, queue: Queue) -> float:
    """Return what a job is sorted by at this moment."""
    key = float(keys.static[row])
    if len(keys.rate) > 0:
        term = keys.rate[row]
        for _ in range(keys.power):
            term *= now - requests.arrival[row]
        key += term
    if len(keys.charge) > 0:
        key += keys.charge[row] * queue.usage[requests.user[row]]
    return key


@no_inline
def enqueue(row: int, key: float, queue: Queue) -> None:
    """Let a job wait where its key says, behind equal ones that came before; a head that is held stays in front."""
    queue.key[row] = key
    place_in_queue = queue.state[LENGTH]
    while place_in_queue > queue.state[HELD] and comes_later(queue.row[place_in_queue - 1], row, queue.key):
        queue.row[place_in_queue] = queue.row[place_in_queue - 1]
        place_in_queue -= 1
    queue.row[place_in_queue] = row
    queue.state[LENGTH] += 1


@no_inline
def sort_queue(first: int, now: float, keys: Keys, requests: Requests, queue: Queue) -> None:
    """Sort the queue from a place on by its keys, equal ones in order of arrival; quick if it is nearly sorted."""
    for place_in_queue in range(first, queue.state[LENGTH]):
        row = queue.row[place_in_queue]
        queue.key[row] = compute_key(row, now, keys, requests, queue)
        at = place_in_queue
        while at > first and comes_later(queue.row[at - 1], row, queue.key):
            queue.row[at] = queue.row[at - 1]
            at -= 1
        queue.row[at] = row


@no_inline
def change_keys(now: float, phase: int, phases: Phases, keys: Keys, requests: Requests, queue: Queue) -> None:
    """Sort the queue by other keys; a head that was held has to wait for its turn."""
    for row in range(len(keys.static)):
        keys.static[row] = phases.static[phase, row]
    queue.state[HELD] = 0
    sort_queue(0, now, keys, requests, queue)


@jitable
def comes_later(one: int, other: int, key: Floats | Ints) -> bool:
    """Whether one job is served after another."""
    return bool(key[one] > key[other] or (key[one] == key[other] and one > other))


@no_inline
def drop_first(count: int, queue: Queue) -> None:
    """Remove the first jobs of the queue."""
    if count > 0:
        queue.state[LENGTH] -= count
        for place_in_queue in range(queue.state[LENGTH]):
            queue.row[place_in_queue] = queue.row[place_in_queue + count]


@no_inline
def end_jobs(
    now: float, requests: Requests, nodes: Nodes, entries: Entries, queue: Queue, out: Outcome, stints: Stints
) -> None:
    """End what is due by now, and give back what it held."""
    while queue.ends_size[0] > 0 and out.finish[queue.ends[0]] <= now:
        row = pop(queue.ends, queue.ends_size, out.finish)
        excess = (requests.seconds[row] - requests.requested[row]) / find_pace(row, requests, entries, nodes)
        stop(row, excess, out.finish[row], requests, nodes, entries, queue, stints)
        out.status[row] = DONE


@jitable
def stop(
    row: int,
    excess: float,
    now: float,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    queue: Queue,
    stints: Stints,
) -> None:
    """Give back what a job held; its user is charged the seconds that it ran longer than requested."""
    hold(row, -1, requests, entries, nodes)
    queue.usage[requests.user[row]] += requests.width[row] * excess
    if len(stints.since) > 0:
        keep_stint(row, now, entries, stints)
    at = 0
    while queue.running[at] != row:
        at += 1
    queue.state[RUNNING] -= 1
    for place_in_list in range(at, queue.state[RUNNING]):
        queue.running[place_in_list] = queue.running[place_in_list + 1]


@no_inline
def move_nodes(
    now: float,
    keys: Keys,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    queue: Queue,
    out: Outcome,
    rules: Rules,
    departures: Departures,
    stints: Stints,
) -> None:
    """Close and open nodes that leave and return; who runs on one that leaves goes back to the queue."""
    event = next_leave(now, nodes, departures)
    while event >= 0:
        saved, at = rules.checkpoint <= departures.notice[event], 0
        while at < queue.state[RUNNING]:
            row = queue.running[at]
            if runs_on(row, departures.node[event], entries):
                interrupt(row, now, saved, rules.checkpoint, requests, nodes, entries, queue, stints)
                enqueue(row, compute_key(row, now, keys, requests, queue), queue)
            else:
                at += 1
        queue.ends_size[0] = 0
        for place_in_list in range(queue.state[RUNNING]):
            push(queue.ends, queue.ends_size, queue.running[place_in_list], out.finish)
        event = next_leave(now, nodes, departures)


@no_inline
def interrupt(
    row: int,
    now: float,
    saved: bool,
    cost: float,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    queue: Queue,
    stints: Stints,
) -> None:
    """Stop a job before its end: if it is saved it goes on from here, `cost` seconds later, else it begins anew."""
    pace, held, restart = find_pace(row, requests, entries, nodes), now - stints.since[row], stints.restart[row]
    stop(row, held - requests.requested[row] / pace, now, requests, nodes, entries, queue, stints)
    if end_stint(row, now, saved, cost, stints):
        done = (held - restart) * pace
        left = max(requests.requested[row] - done, 1.0)
        requests.longest[row] *= left / requests.requested[row]
        requests.requested[row] = left
        requests.seconds[row] = max(requests.seconds[row] - done, 0.0)


@no_inline
def start(
    row: int,
    now: float,
    requests: Requests,
    entries: Entries,
    nodes: Nodes,
    queue: Queue,
    out: Outcome,
    stints: Stints,
) -> None:
    """Start a job on what its entries name; its user is charged what it requested, and refunded at its end."""
    hold(row, 1, requests, entries, nodes)
    pace = find_pace(row, requests, entries, nodes)
    out.finish[row] = now + requests.seconds[row] / pace
    queue.estimated[row] = now + requests.requested[row] / pace
    if len(stints.since) > 0:
        stints.since[row] = now
        out.finish[row] += stints.restart[row]
        queue.estimated[row] += stints.restart[row]
    if np.isnan(out.start[row]):  # else it was interrupted
        out.start[row] = now
    if out.finish[row] == np.inf:
        out.status[row] = DONE  # it stays: nothing of it has to be looked at again
        return
    queue.usage[requests.user[row]] += requests.width[row] * (requests.requested[row] / pace)
    push(queue.ends, queue.ends_size, row, out.finish)
    at = queue.state[RUNNING]
    while at > 0 and queue.estimated[queue.running[at - 1]] > queue.estimated[row]:
        queue.running[at] = queue.running[at - 1]
        at -= 1
    queue.running[at] = row
    queue.state[RUNNING] += 1


@no_inline
def place(
    rule: Any,
    row: int,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    scores: Scores,
    cached: bool,
) -> bool:
    """Name what a job shall hold, on the node with the best score; False if there is no room."""
    node = choose_node(rule, row, requests, nodes, scores, cached)
    if node < 0:
        return (
            bool(requests.span[row]) and requests.gpus[row] > 0 and name_spanned_gpus(row, requests, entries, nodes)
        )
    if requests.gpus[row] == 0:
        entries.node[entries.first[row]] = node
    elif requests.share[row] < WHOLE:
        entries.node[entries.first[row]] = node
        entries.gpu[entries.first[row]] = pick_gpu(rule, view_job(row, requests), node, nodes)
    else:
        name_whole_gpus(row, node, 0, requests.gpus[row], entries, nodes)
    return True


@no_inline
def choose_node(rule: Any, row: int, requests: Requests, nodes: Nodes, scores: Scores, cached: bool) -> int:
    """Return the node with the largest score of those that have room, of equal ones the first by rank; or -1."""
    best, most = -1, -np.inf
    if len(nodes.cpu) == 1:
        return 0 if fits(row, 0, requests, nodes) else -1
    kind = requests.kind[row]
    for place_in_rank in range(len(nodes.rank)):
        node = nodes.rank[place_in_rank]
        value = -np.inf
        if cached and scores.version[kind, node] == nodes.version[node]:
            value = scores.value[kind, node]
        else:
            if fits(row, node, requests, nodes):
                value = score_node(rule, view_job(row, requests), node, nodes)
            if cached:
                scores.value[kind, node] = value
                scores.version[kind, node] = nodes.version[node]
        if value > most:
            best, most = node, value
    return best


@no_inline
def backfill(
    now: float,
    rule: Any,
    requests: Requests,
    nodes: Nodes,
    spare: Nodes,
    common: Nodes,
    entries: Entries,
    queue: Queue,
    scores: Scores,
    out: Outcome,
    rules: Rules,
    stints: Stints,
) -> None:
    """Start whoever does not delay the head: it ends before the head can start, or leaves room for it then."""
    head = queue.row[0]
    shadow = reserve(now, rule, head, requests, nodes, spare, entries, queue, scores)
    if np.isnan(out.reserved[head]):
        out.reserved[head] = shadow
    for node in range(len(nodes.cpu)):
        intersect(node, nodes, spare, common)
    kept = 1
    for place_in_queue in range(1, queue.state[LENGTH]):
        row = queue.row[place_in_queue]
        longest = requests.longest[row] + (stints.restart[row] if len(stints.since) > 0 else 0.0)
        short = now + longest <= shadow
        started = False
        if short:
            if may_fit(row, requests, nodes):
                started = place(rule, row, requests, nodes, entries, scores, rules.cached)
        elif may_fit(row, requests, common):
            started = place(rule, row, requests, common, entries, scores, False)
        if started:
            start(row, now, requests, entries, nodes, queue, out, stints)
            if not short:
                hold(row, 1, requests, entries, spare)
            for entry in range(entries.first[row], entries.first[row + 1]):
                intersect(entries.node[entry], nodes, spare, common)
        else:
            queue.row[kept] = row
            kept += 1
    queue.state[LENGTH] = kept


@jitable
def may_fit(row: int, requests: Requests, nodes: Nodes) -> bool:
    """Whether room is worth looking for: a call passes every array on the stack, and on a pool one look suffices."""
    return len(nodes.cpu) > 1 or (requests.cpu[row] <= nodes.cpu[0] and requests.memory[row] <= nodes.memory[0])


@no_inline
def reserve(
    now: float,
    rule: Any,
    head: int,
    requests: Requests,
    nodes: Nodes,
    spare: Nodes,
    entries: Entries,
    queue: Queue,
    scores: Scores,
) -> float:
    """Find when the head can start if all that runs ends as estimated; `spare` is what it then leaves to others."""
    copy_nodes(nodes, spare)
    shadow = np.inf
    for place_in_list in range(queue.state[RUNNING]):
        row = queue.running[place_in_list]
        end = max(queue.estimated[row], now)
        if end > shadow:
            break
        hold(row, -1, requests, entries, spare)
        if shadow == np.inf and finds_room(head, row, requests, entries, spare):
            shadow = end
    if shadow < np.inf:
        place(rule, head, requests, spare, entries, scores, False)
        hold(head, 1, requests, entries, spare)
    return shadow


@no_inline
def finds_room(row: int, ended: int, requests: Requests, entries: Entries, nodes: Nodes) -> bool:
    """Whether a job has room now that another has ended; only what that one held can have made the difference."""
    if requests.span[row] and requests.gpus[row] > 0:
        room = 0
        for node in range(len(nodes.cpu)):
            room += count_usable(row, node, requests, nodes)
        return bool(room >= requests.gpus[row])
    found = False
    for entry in range(entries.first[ended], entries.first[ended + 1]):
        found |= fits(row, entries.node[entry], requests, nodes)
    return found


@no_inline
def next_due(now: float, queue: Queue) -> float:
    """Return the next moment at which somebody who waits shall start; inf if nobody is planned after now."""
    due = np.inf
    for place_in_queue in range(queue.state[LENGTH]):
        planned = queue.planned[queue.row[place_in_queue]]
        if planned > now:
            due = min(due, planned)
    return due


@no_inline
def plan_all(
    now: float,
    rule: Any,
    requests: Requests,
    nodes: Nodes,
    entries: Entries,
    queue: Queue,
    scores: Scores,
    profile: Profile,
    out: Outcome,
    stints: Stints,
) -> None:
    """Let everybody who waits move to the earliest gap in the profile of a pool, one after another; start who is due.

    All keep their places while others move, so that nobody's reservation is ever delayed.
    """
    count = forecast(now, requests, nodes, queue, profile)
    for place_in_queue in range(queue.state[LENGTH]):
        row = queue.row[place_in_queue]
        if not np.isnan(queue.planned[row]):
            queue.planned[row] = max(queue.planned[row], now)  # later than planned if somebody takes longer than said
            count = occupy(row, queue.planned[row], 1, count, requests, profile)
    kept = 0
    for place_in_queue in range(queue.state[LENGTH]):
        row = queue.row[place_in_queue]
        if not np.isnan(queue.planned[row]):
            count = occupy(row, queue.planned[row], -1, count, requests, profile)
        queue.planned[row] = profile.moment[find_gap(row, count, requests, profile)]
        count = occupy(row, queue.planned[row], 1, count, requests, profile)
        due = queue.planned[row] <= now
        if due and place(rule, row, requests, nodes, entries, scores, False):
            start(row, now, requests, entries, nodes, queue, out, stints)
        else:
            if np.isnan(out.reserved[row]):
                out.reserved[row] = queue.planned[row]
            queue.row[kept] = row
            kept += 1
    queue.state[LENGTH] = kept
    queue.state[HELD] = 0


@no_inline
def forecast(now: float, requests: Requests, nodes: Nodes, queue: Queue, profile: Profile) -> int:
    """Write what is free from now on if all that runs ends as estimated; return the number of moments."""
    profile.moment[0], profile.cpu[0] = now, nodes.cpu[0]
    profile.memory[0], profile.gpus[0] = nodes.memory[0], nodes.whole[0]
    count = 1
    for place_in_list in range(queue.state[RUNNING]):
        row = queue.running[place_in_list]
        end = max(queue.estimated[row], now)
        if end > profile.moment[count - 1]:
            profile.moment[count], profile.cpu[count] = end, profile.cpu[count - 1]
            profile.memory[count], profile.gpus[count] = profile.memory[count - 1], profile.gpus[count - 1]
            count += 1
        profile.cpu[count - 1] += requests.cpu[row]
        profile.memory[count - 1] += requests.memory[row]
        profile.gpus[count - 1] += requests.gpus[row]
    return count


@no_inline
def find_gap(row: int, count: int, requests: Requests, profile: Profile) -> int:
    """Return the first moment from which a job fits for as long as it requested; it fits from the last one on."""
    at, place_in_profile = 0, 0
    while place_in_profile < count:
        if profile.moment[place_in_profile] >= profile.moment[at] + requests.longest[row]:
            return at
        if (
            profile.cpu[place_in_profile] < requests.cpu[row]
            or profile.memory[place_in_profile] < requests.memory[row]
            or profile.gpus[place_in_profile] < requests.gpus[row]
        ):
            at = place_in_profile + 1
        place_in_profile += 1
    return min(at, count - 1)


@no_inline
def occupy(row: int, moment: float, sign: int, count: int, requests: Requests, profile: Profile) -> int:
    """Take what a job needs out of the profile from a moment on, or put it back (−1); count its moments."""
    first, count = split_profile(moment, count, profile)
    last, count = split_profile(moment + requests.longest[row], count, profile)
    for place_in_profile in range(first, last):
        profile.cpu[place_in_profile] -= sign * requests.cpu[row]
        profile.memory[place_in_profile] -= sign * requests.memory[row]
        profile.gpus[place_in_profile] -= sign * requests.gpus[row]
    return count


@no_inline
def split_profile(moment: float, count: int, profile: Profile) -> tuple[int, int]:
    """Let the profile have an entry at a moment; return its number, and how many there are."""
    at = 0
    while at < count and profile.moment[at] < moment:
        at += 1
    if moment == np.inf or (at < count and profile.moment[at] == moment):
        return at, count
    for place_in_profile in range(count, at, -1):
        profile.moment[place_in_profile] = profile.moment[place_in_profile - 1]
        profile.cpu[place_in_profile] = profile.cpu[place_in_profile - 1]
        profile.memory[place_in_profile] = profile.memory[place_in_profile - 1]
        profile.gpus[place_in_profile] = profile.gpus[place_in_profile - 1]
    profile.moment[at], profile.cpu[at] = moment, profile.cpu[at - 1]
    profile.memory[at], profile.gpus[at] = profile.memory[at - 1], profile.gpus[at - 1]
    return at, count + 1
