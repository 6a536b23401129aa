"""Certified lower bounds of the makespan, and an independent verifier of their certificates.

For any prices λ ≥ 0 per device class with Σ count·λ = 1, the tasks that arrive at or after time r need at least
Σ min_d λ_d·t(i, d) seconds after r (weak LP duality). The prices are the certificate. In a graph the same holds
between what must run before these tasks and what must run after them (`graph.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hybrid_scheduler.bounds.graph import Bools, compute_heads_and_tails, find_best_window, select_window
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import jit, kernel
from hybrid_scheduler.core.physics import class_times, find_pieces, rejections, shortest_times, whole_times
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import SchedulerError

LP_ROWS = 4096
"""Most tasks in one linear programme; of more, an even sample is priced, which still gives a valid bound."""
FEW_CLASSES = 8
"""Above this number of classes, proportional tasks are merged in the linear programme."""
NEAR_CHEAPEST = 1.25
"""With guessed prices, a linear programme begins with classes on which a task costs up to this times its least."""


@dataclass(frozen=True)
class Bound:
    """No schedule ends before `makespan`; `kind` says which certificate proves it."""

    makespan: float
    kind: str  # "work", "path", "window" or "whole"
    prices: dict[str, float]
    since: float = 0.0  # work: earliest arrival of the tasks that count; window: their smallest head
    path: tuple[int, ...] = ()  # path: task ids of a chain in which each depends on the one before
    tail: float = 0.0  # window: smallest tail of the tasks that count
    limit: float = np.inf  # whole: a schedule that ends earlier runs no task where it takes this long

    def __str__(self) -> str:
        if self.kind == "path":
            return f"{self.makespan:.6g} s (chain of {len(self.path)} tasks)"
        prices = ", ".join(f"{name} {price:.6g}" for name, price in self.prices.items())
        if self.kind == "window":
            between = f"{self.since:.6g} s before and {self.tail:.6g} s after it"
            return f"{self.makespan:.6g} s (work with {between}; prices {prices})"
        return f"{self.makespan:.6g} s (work arriving from {self.since:.6g} s on; prices {prices})"


def available_times(tasks: Tasks, cluster: Cluster, times: Floats | None = None) -> Floats:
    """Return class times with inf for classes without devices."""
    seconds = class_times(tasks, cluster) if times is None else times
    present = cluster.counts > 0
    return seconds if present.all() else np.where(present, seconds, np.inf)


def lower_bound(tasks: Tasks, cluster: Cluster, times: Floats | None = None) -> Bound:
    """Return the largest bound of three: work with arrivals, critical path and, in a graph, windows of work."""
    seconds = available_times(tasks, cluster, times)
    runs = rejections(tasks, seconds, cluster) == RAN
    if not runs.any():
        return Bound(0.0, "work", _name_prices(np.zeros(len(cluster.classes)), cluster))
    owners, pieces = _select_pieces(tasks, seconds, runs, cluster)
    work = _work_bound(tasks.arrival_time[owners], pieces, cluster)
    path = _path_bound(tasks, seconds, runs, cluster)
    found = [work, path, *([_window_bound(tasks, seconds, runs, cluster)] if tasks.has_edges else [])]
    return max(found, key=lambda bound: bound.makespan)


def _select_pieces(tasks: Tasks, times: Floats, rows: Bools, cluster: Cluster) -> tuple[Ints, Floats]:
    """Return the pieces of some tasks: whole tasks, cut where only a share fits the memory of a class."""
    owners, pieces = find_pieces(tasks, times, cluster)
    return owners[rows[owners]], pieces[rows[owners]]


def critical_path_bound(tasks: Tasks, cluster: Cluster, times: Floats | None = None) -> Bound:
    """Return the bound of the longest chain, which is all that counts in isolated mode."""
    seconds = available_times(tasks, cluster, times)
    return _path_bound(tasks, seconds, rejections(tasks, seconds, cluster) == RAN, cluster)


def whole_task_bound(tasks: Tasks, cluster: Cluster) -> Bound:
    """Return a sharper bound for a batch of tasks that are never split (after Lenstra, Shmoys, Tardos 1990).

    A schedule that ends before `limit` runs no task on a class where it takes that long. If the work without those
    pairs still needs `limit` seconds, no schedule of whole tasks ends before `limit`.
    """
    seconds = available_times(tasks, cluster)
    runs = rejections(tasks, seconds, cluster) == RAN
    seconds = whole_times(tasks, seconds, cluster)[runs]
    best = _bound_below(seconds, np.inf, cluster)
    candidates = np.unique(seconds[np.isfinite(seconds)])
    first, last = 0, len(candidates)
    while first < last:  # work falls as the limit grows: the best bound is where they cross
        middle = (first + last) // 2
        found = _bound_below(seconds, float(candidates[middle]), cluster)
        best = max(best, found, key=lambda bound: bound.makespan)
        first, last = (middle + 1, last) if found.makespan == found.limit else (first, middle)
    return best


def _bound_below(seconds: Floats, limit: float, cluster: Cluster) -> Bound:
    restricted = np.where(seconds >= limit, np.inf, seconds)
    prices = find_prices(restricted, cluster.counts)
    return Bound(min(limit, _work(restricted, prices)), "whole", _name_prices(prices, cluster), limit=limit)


def verify_bound(bound: Bound, tasks: Tasks, cluster: Cluster, tolerance: float = 1e-9) -> bool:
    """Check a bound from its certificate alone, in plain NumPy, without the code that found it."""
    times = available_times(tasks, cluster)
    runs = rejections(tasks, times, cluster) == RAN
    slack = 1.0 + tolerance
    if bound.kind == "path":
        return _verify_path(bound, tasks, shortest_times(tasks, times, cluster)) >= bound.makespan / slack
    prices = np.array([bound.prices[each.name] for each in cluster.classes])
    if (prices < 0).any() or float(prices @ cluster.counts) > slack:
        return False
    if bound.kind == "whole":
        # A schedule ends at `limit` or later, or runs no task where it takes that long and needs this much work.
        times = whole_times(tasks, times, cluster)
        times = np.where(times >= bound.limit, np.inf, times)
        return min(bound.limit, _work(times[runs], prices)) >= bound.makespan / slack
    if not runs.any():
        return bound.makespan <= 0.0
    late = runs & (tasks.arrival_time >= bound.since)
    if bound.kind == "window":
        late = select_window(tasks, shortest_times(tasks, times, cluster), runs, bound.since, bound.tail)
    elif bound.tail:
        return False  # independent work has nothing after it
    _, pieces = _select_pieces(tasks, times, late, cluster)
    return bool(late.any()) and bound.since + _work(pieces, prices) + bound.tail >= bound.makespan / slack


def _verify_path(bound: Bound, tasks: Tasks, shortest: Floats) -> float:
    rows = {int(task_id): row for row, task_id in enumerate(tasks.task_id)}
    chain = [rows[task_id] for task_id in bound.path]
    is_chain = chain and all(one in tasks.edges.neighbours(other) for one, other in pairwise(chain))
    return float(tasks.arrival_time[chain[0]] + shortest[chain].sum()) if is_chain else -np.inf


def find_prices(times: Floats, counts: Ints, guess: Floats | None = None) -> Floats:
    """Return the prices per class that maximise the work bound of a batch.

    `guess`, the prices of similar tasks up to a factor, changes nothing but the last digits: with many classes it
    makes the linear programme two to five times as fast.
    """
    present = np.flatnonzero(counts > 0)
    seconds, number = times[:, present], counts[present].astype(np.float64)
    seconds = seconds[np.isfinite(seconds).any(axis=1)]
    prices = np.zeros(len(counts))
    if len(seconds) == 0 or len(present) == 1:
        prices[present] = 1.0 / number.sum()
    elif len(present) == 2:
        share = _best_share(seconds, number)
        prices[present] = np.array([share, 1.0 - share]) / number
    else:
        prices[present] = _lp_prices(seconds, number, None if guess is None else guess[present])
    return prices


def batch_work(tasks: Tasks, cluster: Cluster) -> float:
    """Return the LP optimum of the tasks as one batch: seconds of ideal work of the whole cluster."""
    times = available_times(tasks, cluster)
    _, times = _select_pieces(tasks, times, rejections(tasks, times, cluster) == RAN, cluster)
    return _work(times, find_prices(times, cluster.counts)) if len(times) else 0.0


def _work(times: Floats, prices: Floats) -> float:
    """Return Σ min_d λ_d·t(i, d)."""
    return float(_cheapest(times, prices).sum())


def _cheapest(times: Floats, prices: Floats) -> Floats:
    """Return min_d λ_d·t(i, d); a class that cannot run a task is never its minimum, whatever its price."""
    priced = np.where(np.isfinite(times), prices * np.where(np.isfinite(times), times, 0.0), np.inf)
    least: Floats = priced.min(axis=1)
    return least


def _name_prices(prices: Floats, cluster: Cluster) -> dict[str, float]:
    return {each.name: float(price) for each, price in zip(cluster.classes, prices, strict=True)}


def _work_bound(arrival: Floats, times: Floats, cluster: Cluster) -> Bound:
    order = np.argsort(arrival, kind="stable") if (np.diff(arrival) < 0).any() else np.arange(len(arrival))
    arrival, times = arrival[order], np.ascontiguousarray(times[order])
    best_value, best_row, best_prices = -1.0, 0, np.zeros(len(cluster.classes))
    tried: set[int] = set()
    for halvings in range(len(arrival).bit_length()):  # start from all tasks, the last half, the last quarter …
        row = len(arrival) - (len(arrival) >> halvings)
        # Prices for one suffix may give a larger bound on another; alternate until they do not.
        for _ in range(4):
            if row in tried:
                break
            tried.add(row)
            prices = find_prices(times[row:], cluster.counts)
            value, row = _best_suffix(arrival, times, prices)
            if value > best_value:
                best_value, best_row, best_prices = value, int(row), prices
    return Bound(best_value, "work", _name_prices(best_prices, cluster), since=float(arrival[best_row]))


@kernel
def _best_suffix(arrival: Floats, times: Floats, prices: Floats) -> tuple[float, int]:
    """Return the largest r_j + Σ min λ·t over the tasks from row j on, and its row."""
    best, row, work = -1.0, 0, 0.0
    for i in range(len(arrival) - 1, -1, -1):
        cheapest = np.inf
        for c in range(len(prices)):
            if np.isfinite(times[i, c]):
                cheapest = min(cheapest, prices[c] * times[i, c])
        work += cheapest
        if arrival[i] + work > best and (i == 0 or arrival[i - 1] < arrival[i]):
            best, row = arrival[i] + work, i
    return best, row


@kernel
def _best_share(times: Floats, number: Floats) -> float:
    """Return the share s of class 0, of two, that maximises Σ min(s·t0/n0, (1 − s)·t1/n1) by bisection.

    The sum is concave in s; its slope is the work assigned to class 0 minus the work assigned to class 1.
    """
    low, high = 0.0, 1.0
    # With many tasks the maximum is flat: a nearby share gives the same bound to nine digits.
    width = 1e-13 if len(times) < 20_000 else 1e-7
    while high - low > width:
        share = 0.5 * (low + high)
        price0, price1 = share / number[0], (1.0 - share) / number[1]
        on0, on1 = 0.0, 0.0
        for i in range(len(times)):
            if price0 * times[i, 0] < price1 * times[i, 1]:
                on0 += times[i, 0]
            else:
                on1 += times[i, 1]
        if on0 / number[0] > on1 / number[1]:
            low = share
        else:
            high = share
    return 0.5 * (low + high)


def _merge_proportional(times: Floats) -> Floats:
    """Merge tasks with proportional times into one: at any prices they choose the same class.

    On clusters of many classes most tasks differ by a factor only, and the linear programme becomes small.
    """
    least = times.min(axis=1)
    shapes, shape = np.unique(np.round(times / least[:, None], 9), axis=0, return_inverse=True)
    if len(shapes) == len(times):
        return times
    weights = np.bincount(shape.ravel(), weights=least, minlength=len(shapes))
    merged: Floats = shapes * weights[:, None]
    return merged


def _lp_prices(times: Floats, number: Floats, guess: Floats | None) -> Floats:
    """Return the optimal prices of any number of classes: the marginals of the assignment LP."""
    sample = times[:: -(-len(times) // LP_ROWS)]
    if len(number) > FEW_CLASSES:
        sample = _merge_proportional(sample)
    known = np.isfinite(sample)
    if guess is None:
        return _solve_assignment(sample, number, known)
    priced = np.where(known, sample, np.inf) * np.maximum(guess, np.finfo(np.float64).tiny)
    columns = priced <= NEAR_CHEAPEST * priced.min(axis=1, keepdims=True)
    while True:  # until no class that was left out is cheaper: then the optimum is that of all classes
        prices = _solve_assignment(sample, number, columns)
        cost = np.where(known, np.where(known, sample, 0.0) * prices, np.inf)
        cheapest = np.where(columns, cost, np.inf).min(axis=1, keepdims=True)
        missing = (cost < cheapest * (1.0 - 1e-12)) & ~columns
        if not missing.any():
            return prices
        columns |= missing


def _solve_assignment(times: Floats, number: Floats, columns: Bools) -> Floats:
    """Return the prices of the fractional assignment with the least makespan to some classes per task, by HiGHS."""
    from scipy.optimize import linprog  # half a second, which two classes never need
    from scipy.sparse import coo_array

    scale = float(np.min(times, axis=1).max())
    rows, chosen = np.nonzero(columns)
    tasks, classes, shares, index = *times.shape, len(rows), np.arange(len(rows))
    # Variables: the share x of every task on every class, then the makespan T, which is minimised.
    work = coo_array(
        (
            np.concatenate([times[rows, chosen] / scale, -number]),
            (np.concatenate([chosen, np.arange(classes)]), np.concatenate([index, np.full(classes, shares)])),
        ),
        shape=(classes, shares + 1),
    )
    result = linprog(
        np.concatenate([np.zeros(shares), [1.0]]),
        A_ub=work.tocsr(),  # Σ x·t ≤ number·T on every class: what this costs is its price
        b_ub=np.zeros(classes),
        A_eq=coo_array((np.ones(shares), (rows, index)), shape=(tasks, shares + 1)).tocsr(),
        b_eq=np.ones(tasks),
        method="highs",
    )
    if result.x is None:
        raise SchedulerError(f"the linear programme of the bound was not solved ({result.message})")
    prices = np.maximum(-result.ineqlin.marginals, 0.0)
    normalised: Floats = prices / float((prices * number).sum())  # not `@`, which rounds by the processor
    return normalised


def _window_bound(tasks: Tasks, times: Floats, runs: Bools, cluster: Cluster) -> Bound:
    heads, tails = compute_heads_and_tails(tasks, shortest_times(tasks, times, cluster), runs)
    owners, times = _select_pieces(tasks, times, runs, cluster)
    heads, tails = heads[owners], tails[owners]
    best = Bound(-1.0, "window", {})
    tried: set[tuple[float, float]] = set()
    for head, tail in _start_windows(heads, tails, cluster):
        # As with suffixes, prices for one window may give a larger bound on another.
        for _ in range(6):
            inside = (heads >= head) & (tails >= tail)
            if (head, tail) in tried or not inside.any():
                break
            tried.add((head, tail))
            prices = find_prices(times[inside], cluster.counts)
            seconds, head, tail = find_best_window(heads, tails, _cheapest(times, prices))
            if seconds > best.makespan:
                kind = "window" if head or tail else "work"  # the window is everything
                best = Bound(seconds, kind, _name_prices(prices, cluster), since=head, tail=tail)
    return best


def _start_windows(heads: Floats, tails: Floats, cluster: Cluster) -> Iterator[tuple[float, float]]:
    """Yield the window of all tasks and, where prices are cheap to find, of later and earlier ones."""
    yield float(heads.min()), 0.0
    if np.count_nonzero(cluster.counts) <= 2:
        for share in (0.25, 0.5, 0.75):
            yield float(np.quantile(heads, share)), 0.0
            yield float(heads.min()), float(np.quantile(tails, share))


def _path_bound(tasks: Tasks, times: Floats, runs: Bools, cluster: Cluster) -> Bound:
    shortest = np.where(runs, shortest_times(tasks, times, cluster), 0.0)
    arrival, edges = tasks.arrival_time, tasks.edges
    if tasks.has_edges:
        ends, previous = _longest_chain(tasks.topological, arrival, shortest, runs, edges.start, edges.parents)
    else:
        ends, previous = np.where(runs, arrival + shortest, -np.inf), np.full(len(tasks), -1)
    chain = [int(np.argmax(ends))]
    while previous[chain[-1]] >= 0:
        chain.append(int(previous[chain[-1]]))
    path = tuple(int(tasks.task_id[row]) for row in reversed(chain))
    return Bound(float(ends[chain[0]]), "path", _name_prices(np.zeros(len(cluster.classes)), cluster), path=path)


@jit
def _longest_chain(
    topological: Ints, arrival: Floats, shortest: Floats, runs: Bools, parent_start: Ints, parents: Ints
) -> tuple[Floats, Ints]:
    ends = np.full(len(arrival), -np.inf)
    previous = np.full(len(arrival), -1)
    for row in topological:
        if not runs[row]:
            continue
        start = arrival[row]
        for edge in range(parent_start[row], parent_start[row + 1]):
            if ends[parents[edge]] > start:
                start = ends[parents[edge]]
                previous[row] = parents[edge]
        ends[row] = start + shortest[row]
    return ends, previous
