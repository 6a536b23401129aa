"""Certified lower bounds: numbers below which no schedule of these tasks can end, with a proof one can check.

For any prices λ ≥ 0 per device class with Σ count·λ = 1, the tasks that arrive at or after time r need at least
Σ min_d λ_d·t(i, d) seconds after r (weak LP duality). The prices are the certificate. In a graph the same holds
between what must come before the tasks and what must come after them (`graph_bound.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.optimize import linprog
from scipy.sparse import coo_array

from hybrid_scheduler.bounds.graph import best_window, heads_and_tails, inside_window
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.physics import class_times, fastest, rejections
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import SchedulerError

Bools = npt.NDArray[np.bool_]

LP_ROWS = 4096
"""Most tasks in one linear programme; more are priced on an even sample, which still gives a valid bound."""
FEW_CLASSES = 8  # up to which tasks that are alike stay apart in the linear programme


@dataclass(frozen=True)
class Bound:
    """No schedule ends before `makespan`; `kind` says which certificate proves it."""

    makespan: float
    kind: str  # "work", "path", "window" or "whole"
    prices: dict[str, float]
    since: float = 0.0  # work: tasks count that arrive at or after this time; window: that cannot begin before it
    path: tuple[int, ...] = ()  # path: task ids of a chain in which each waits for the one before
    tail: float = 0.0  # window: and after which at least this much must follow
    limit: float = np.inf  # whole: a schedule that ends before this runs no task where it takes as long

    def __str__(self) -> str:
        if self.kind == "path":
            return f"{self.makespan:.6g} s (chain of {len(self.path)} tasks)"
        prices = ", ".join(f"{name} {price:.6g}" for name, price in self.prices.items())
        if self.kind == "window":
            between = f"{self.since:.6g} s before and {self.tail:.6g} s after it"
            return f"{self.makespan:.6g} s (work with {between}; prices {prices})"
        return f"{self.makespan:.6g} s (work arriving from {self.since:.6g} s on; prices {prices})"


def present_times(tasks: Tasks, cluster: Cluster, times: Floats | None = None) -> Floats:
    """Return class times in which a class without devices can run nothing."""
    seconds = class_times(tasks, cluster) if times is None else times
    present = cluster.counts > 0
    return seconds if present.all() else np.where(present, seconds, np.inf)


def lower_bound(tasks: Tasks, cluster: Cluster, times: Floats | None = None) -> Bound:
    """Return the best bound found: by work with arrivals, by the longest chain, in a graph by both together."""
    seconds = present_times(tasks, cluster, times)
    runs = rejections(tasks, seconds, cluster) == RAN
    if not runs.any():
        return Bound(0.0, "work", dict.fromkeys((each.name for each in cluster.classes), 0.0))
    work = _work_bound(tasks.arrival_time[runs], seconds[runs], cluster)
    path = _path_bound(tasks, seconds, runs, cluster)
    found = [work, path, *([_window_bound(tasks, seconds, runs, cluster)] if tasks.has_edges else [])]
    return max(found, key=lambda bound: bound.makespan)


def isolated_bound(tasks: Tasks, cluster: Cluster, times: Floats | None = None) -> Bound:
    """Return the bound for the isolated race, in which devices are always free: the longest chain."""
    seconds = present_times(tasks, cluster, times)
    return _path_bound(tasks, seconds, rejections(tasks, seconds, cluster) == RAN, cluster)


def whole_task_bound(tasks: Tasks, cluster: Cluster) -> Bound:
    """Return a sharper bound for a batch of tasks that are never split (after Lenstra, Shmoys, Tardos 1990).

    A schedule that ends before `limit` runs no task where it takes that long. If without those places the work
    needs at least `limit`, no schedule of whole tasks ends before it.
    """
    seconds = present_times(tasks, cluster)
    seconds = seconds[rejections(tasks, seconds, cluster) == RAN]
    best = _limited(seconds, np.inf, cluster)
    candidates = np.unique(seconds[np.isfinite(seconds)])
    first, last = 0, len(candidates)
    while first < last:  # the larger the limit, the smaller the work: the best bound is where they cross
        middle = (first + last) // 2
        found = _limited(seconds, float(candidates[middle]), cluster)
        best = max(best, found, key=lambda bound: bound.makespan)
        first, last = (middle + 1, last) if found.makespan == found.limit else (first, middle)
    return best


def _limited(seconds: Floats, limit: float, cluster: Cluster) -> Bound:
    restricted = np.where(seconds >= limit, np.inf, seconds)
    prices = work_prices(restricted, cluster.counts)
    return Bound(min(limit, _work(restricted, prices)), "whole", _named(prices, cluster), limit=limit)


def verify_bound(bound: Bound, tasks: Tasks, cluster: Cluster, tolerance: float = 1e-9) -> bool:
    """Check a bound from its certificate alone, in plain NumPy, without the code that found it."""
    times = present_times(tasks, cluster)
    runs = rejections(tasks, times, cluster) == RAN
    slack = 1.0 + tolerance
    if bound.kind == "path":
        return _verify_path(bound, tasks, fastest(times, cluster)) >= bound.makespan / slack
    prices = np.array([bound.prices[each.name] for each in cluster.classes])
    if (prices < 0).any() or float(prices @ cluster.counts) > slack:
        return False
    if bound.kind == "whole":
        # A schedule ends at `limit` or later, or it runs no task where it takes that long and needs this much work.
        times = np.where(times >= bound.limit, np.inf, times)
        return min(bound.limit, _work(times[runs], prices)) >= bound.makespan / slack
    if not runs.any():
        return bound.makespan <= 0.0
    late = runs & (tasks.arrival_time >= bound.since)
    if bound.kind == "window":
        late = inside_window(tasks, fastest(times, cluster), runs, bound.since, bound.tail)
    elif bound.tail:
        return False  # independent work has nothing after it
    return bool(late.any()) and bound.since + _work(times[late], prices) + bound.tail >= bound.makespan / slack


def work_prices(times: Floats, counts: Ints) -> Floats:
    """Return prices per class that make the work bound of a batch as large as possible."""
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
        prices[present] = _lp_prices(seconds, number)
    return prices


def batch_work(tasks: Tasks, cluster: Cluster) -> float:
    """Return the LP optimum of the tasks as one batch: seconds of the whole cluster's best work."""
    times = present_times(tasks, cluster)
    times = times[rejections(tasks, times, cluster) == RAN]
    return _work(times, work_prices(times, cluster.counts)) if len(times) else 0.0


def _work(times: Floats, prices: Floats) -> float:
    """Σ min_d λ_d·t(i, d)."""
    return float(_cheapest(times, prices).sum())


def _cheapest(times: Floats, prices: Floats) -> Floats:
    """min_d λ_d·t(i, d); a class that cannot run a task is never its minimum, whatever its price."""
    priced = np.where(np.isfinite(times), prices * np.where(np.isfinite(times), times, 0.0), np.inf)
    least: Floats = priced.min(axis=1)
    return least


def _named(prices: Floats, cluster: Cluster) -> dict[str, float]:
    return {each.name: float(price) for each, price in zip(cluster.classes, prices, strict=True)}


# --- work, with arrivals -------------------------------------------------------------------------------------


def _work_bound(arrival: Floats, times: Floats, cluster: Cluster) -> Bound:
    order = np.argsort(arrival, kind="stable") if (np.diff(arrival) < 0).any() else np.arange(len(arrival))
    arrival, times = arrival[order], np.ascontiguousarray(times[order])
    best_value, best_row, best_prices = -1.0, 0, np.zeros(len(cluster.classes))
    tried: set[int] = set()
    for first in _suffixes(len(arrival)):
        row = first
        # Prices for a suffix may prove more about another suffix; follow them until they do not.
        for _ in range(4):
            if row in tried:
                break
            tried.add(row)
            prices = work_prices(times[row:], cluster.counts)
            value, row = _best_suffix(arrival, times, prices)
            if value > best_value:
                best_value, best_row, best_prices = value, int(row), prices
    return Bound(best_value, "work", _named(best_prices, cluster), since=float(arrival[best_row]))


def _suffixes(count: int) -> Iterator[int]:
    """All tasks, the last half, the last quarter …: where a stream's hardest tail may begin."""
    length = count
    while length >= 1:
        yield count - length
        length //= 2


@njit(cache=True, error_model="numpy", nogil=True)
def _best_suffix(arrival: Floats, times: Floats, prices: Floats) -> tuple[float, int]:
    """Return the largest r_j + Σ over later tasks of min λ·t, and its row."""
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


@njit(cache=True, error_model="numpy", nogil=True)
def _best_share(times: Floats, number: Floats) -> float:
    """Two classes: find the share s of class 0 that maximises Σ min(s·t0/n0, (1 − s)·t1/n1).

    The sum is concave in s; its slope is the work left on class 0 minus the work left on class 1.
    """
    low, high = 0.0, 1.0
    # The more tasks, the flatter the top: any share near it proves the same to nine digits.
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


def _merged(times: Floats) -> Floats:
    """Add up tasks whose times differ by a factor alone: at any prices they choose the same class.

    On a cluster of many classes most tasks are alike in where they can run, and the linear programme becomes small.
    """
    least = times.min(axis=1)
    kinds, kind = np.unique(np.round(times / least[:, None], 9), axis=0, return_inverse=True)
    if len(kinds) == len(times):
        return times
    weights = np.bincount(kind.ravel(), weights=least, minlength=len(kinds))
    merged: Floats = kinds * weights[:, None]
    return merged


def _lp_prices(times: Floats, number: Floats) -> Floats:
    """Any number of classes: the dual of assigning every task to classes (HiGHS)."""
    sample = times[:: -(-len(times) // LP_ROWS)]
    if len(number) > FEW_CLASSES:
        sample = _merged(sample)
    scale = float(np.min(sample, axis=1).max())
    rows, columns = np.nonzero(np.isfinite(sample))
    tasks, classes = len(sample), len(number)
    # Variables: λ per class, then one value v_i ≤ λ_d·t(i, d) per task; maximise Σ v.
    entries = len(rows)
    index = np.arange(entries)
    matrix = coo_array(
        (
            np.concatenate([-sample[rows, columns] / scale, np.ones(entries)]),
            (np.concatenate([index, index]), np.concatenate([columns, classes + rows])),
        ),
        shape=(entries, classes + tasks),
    )
    result = linprog(
        np.concatenate([np.zeros(classes), -np.ones(tasks)]),
        A_ub=matrix.tocsr(),
        b_ub=np.zeros(entries),
        A_eq=np.concatenate([number, np.zeros(tasks)])[None, :],
        b_eq=[1.0],
        method="highs",
    )
    if result.x is None:
        raise SchedulerError(f"the linear programme of the bound was not solved ({result.message})")
    prices = np.maximum(result.x[:classes], 0.0)
    normalised: Floats = prices / float(prices @ number)
    return normalised


# --- graphs --------------------------------------------------------------------------------------------------


def _window_bound(tasks: Tasks, times: Floats, runs: Bools, cluster: Cluster) -> Bound:
    heads, tails = heads_and_tails(tasks, fastest(times, cluster), runs)
    heads, tails, times = heads[runs], tails[runs], times[runs]
    best = Bound(-1.0, "window", {})
    tried: set[tuple[float, float]] = set()
    for head, tail in _beginnings(heads, tails, cluster):
        # Prices for one window may prove more about another; follow them until they do not.
        for _ in range(6):
            inside = (heads >= head) & (tails >= tail)
            if (head, tail) in tried or not inside.any():
                break
            tried.add((head, tail))
            prices = work_prices(times[inside], cluster.counts)
            seconds, head, tail = best_window(heads, tails, _cheapest(times, prices))
            if seconds > best.makespan:
                kind = "window" if head or tail else "work"  # all there is, with nothing before or after it
                best = Bound(seconds, kind, _named(prices, cluster), since=head, tail=tail)
    return best


def _beginnings(heads: Floats, tails: Floats, cluster: Cluster) -> Iterator[tuple[float, float]]:
    """All tasks; and later and earlier parts of the graph where prices are quickly found."""
    yield float(heads.min()), 0.0
    if np.count_nonzero(cluster.counts) <= 2:
        for share in (0.25, 0.5, 0.75):
            yield float(np.quantile(heads, share)), 0.0
            yield float(heads.min()), float(np.quantile(tails, share))


# --- chains --------------------------------------------------------------------------------------------------


def _path_bound(tasks: Tasks, times: Floats, runs: Bools, cluster: Cluster) -> Bound:
    shortest = np.where(runs, fastest(times, cluster), 0.0)
    ends = tasks.arrival_time + shortest
    ends = np.where(runs, ends, -np.inf)
    last = int(np.argmax(ends))
    chain = [last]
    if tasks.has_edges:
        ends, previous = _longest_chain(
            tasks.topological, tasks.arrival_time, shortest, runs, tasks.edges.start, tasks.edges.parents
        )
        last = int(np.argmax(ends))
        chain = [last]
        while previous[chain[-1]] >= 0:
            chain.append(int(previous[chain[-1]]))
    path = tuple(int(tasks.task_id[row]) for row in reversed(chain))
    return Bound(float(ends[last]), "path", {each.name: 0.0 for each in cluster.classes}, path=path)


@njit(cache=True, error_model="numpy", nogil=True)
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


def _verify_path(bound: Bound, tasks: Tasks, shortest: Floats) -> float:
    rows = {int(task_id): row for row, task_id in enumerate(tasks.task_id)}
    chain = [rows[task_id] for task_id in bound.path]
    linked = all(one in tasks.edges.of(other) for one, other in pairwise(chain))
    if not linked or not chain:
        return -np.inf
    return float(tasks.arrival_time[chain[0]] + shortest[chain].sum())
