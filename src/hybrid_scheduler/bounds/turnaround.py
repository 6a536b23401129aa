"""Certified lower bounds of turnaround, and of any mix of turnaround, energy and cost, with an independent verifier.

Take any prices β_d(t) ≥ 0 of a second of device class d at time t. A whole task j that is released at r_j and runs on
class d from s on pays F_j + ∫ β_d over its run, at least α_j, the least that any class and start s ≥ r_j offer. At no
time do more than n_d tasks run on class d, so all those integrals together are at most Σ n_d ∫ β_d. Hence for every
schedule of whole tasks, ordered at will, with or without knowledge of the future,

    Σ F_j ≥ Σ α_j − Σ_d n_d ∫ β_d.

Energy and cost enter the bracket of α_j as μ·joules + ν·dollars. The prices are the certificate: they are constant on
the cells of a grid, so the minimum over s is at r_j, at an edge or at an edge minus the task's seconds.

Splits are covered by a second certificate. With Σ n_d λ_d = 1, every schedule is one of a single machine on which
task j has the work min_d λ_d·p_jd; there shortest remaining processing time first (SRPT) is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hybrid_scheduler.bounds.graph import Bools, compute_heads_and_tails
from hybrid_scheduler.bounds.makespan import available_times, find_prices
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import jit
from hybrid_scheduler.core.physics import rejections, shortest_times, whole_times
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import unknown_name

CELLS_PER_TASK, MOST_CELLS = 2, 2_000_000
ITERATIONS, FEWEST_ITERATIONS = 400, 60
STEP = 0.2  # of the first iteration, relative to the mean price
PATIENCE = 15  # iterations without a gain before the step is halved
FRONT_WEIGHTS = (1 / 32, 64.0)  # of the smallest and largest weight, relative to turnaround / joules at their least
COARSEST, REFINEMENT = 250, 4  # cells of the first grid, and into how many each is cut for the next one


@dataclass(frozen=True, eq=False)
class TurnaroundBound:
    """No schedule has a smaller mean of turnaround + energy·joules + cost·dollars per task than `mean`."""

    mean: float
    kind: str  # "prices": schedules of whole tasks; "srpt": all schedules, splits included
    tasks: int  # that run
    grid: Floats  # edges of the cells of the prices
    prices: Floats  # prices: by class and cell; srpt: λ by class
    energy: float = 0.0  # weight of a joule, in seconds
    cost: float = 0.0  # weight of a dollar, in seconds

    @property
    def total(self) -> float:
        """The bound of the sum over all tasks."""
        return self.mean * self.tasks

    def __str__(self) -> str:
        proof = f"prices on {len(self.grid) - 1} cells" if self.kind == "prices" else "one machine, SRPT"
        return f"{self.mean:.6g} s ({proof})"


def turnaround_bound(
    tasks: Tasks,
    cluster: Cluster,
    times: Floats | None = None,
    *,
    whole: bool = True,
    energy: float = 0.0,
    cost: float = 0.0,
    iterations: int | None = None,
) -> TurnaroundBound:
    """Return the larger of both bounds for schedules of whole tasks, or the one that covers split tasks too.

    `energy` and `cost` are the seconds that a joule and a dollar are worth.
    """
    seconds = available_times(tasks, cluster, times)
    runs = rejections(tasks, seconds, cluster) == RAN
    if not runs.any():
        return TurnaroundBound(0.0, "srpt", 0, np.zeros(0), np.zeros(len(cluster.classes)), energy, cost)
    release = _releases(tasks, seconds, cluster, runs)
    unsplit = np.ascontiguousarray(whole_times(tasks, seconds, cluster)[runs])
    arrival, seconds = tasks.arrival_time[runs], np.ascontiguousarray(seconds[runs])
    charge = _charges(seconds, cluster, energy, cost)
    bound = _srpt_bound(arrival, release, seconds, charge, cluster)
    bound = replace(bound, energy=energy, cost=cost)
    if not whole:
        return bound
    charge = _charges(unsplit, cluster, energy, cost)
    priced = _price_bound(arrival, release, unsplit, charge, cluster, iterations)
    return max(bound, replace(priced, energy=energy, cost=cost), key=lambda each: each.mean)


def certified_front(
    tasks: Tasks,
    cluster: Cluster,
    measure: str = "energy",
    *,
    whole: bool = False,
    points: int = 12,
    iterations: int | None = None,
) -> Floats:
    """Return the vertices of a front below which no schedule lies: mean turnaround, joules (or dollars) per task.

    For every weight μ the mean of turnaround + μ·joules is at least its bound, so all schedules lie above the upper
    envelope of those lines. The first vertex has the fewest joules that the tasks can take (above it the front is
    vertical), the last one the least turnaround (beyond it the front is horizontal); in between it is convex.

    `measure` is "energy" or "cost" of the tasks themselves, as in `Placements.energy` and `Placements.cost`, without
    what idle devices draw; a mean over the tasks that run. `whole=True` is the sharper front of schedules that never
    split a task. `points` is the number of weights, each as dear as one `turnaround_bound`.
    """
    if measure not in ("energy", "cost"):
        raise unknown_name("measure of a front:", measure, ("energy", "cost"))
    seconds = available_times(tasks, cluster)
    seconds = seconds[rejections(tasks, seconds, cluster) == RAN]
    if not len(seconds):
        return np.zeros((1, 2))
    fewest = float(_charges(seconds, cluster, **{"energy": 0.0, "cost": 0.0, measure: 1.0}).min(axis=1).mean())
    fastest = turnaround_bound(tasks, cluster, whole=whole, iterations=iterations).mean
    if fewest == 0.0:
        return np.array([[fastest, 0.0]])
    weights = np.concatenate([[0.0], np.geomspace(*FRONT_WEIGHTS, points) * fastest / fewest])
    bounds = [fastest]
    for weight in weights[1:].tolist():
        mix = {measure: weight}
        bounds.append(turnaround_bound(tasks, cluster, whole=whole, iterations=iterations, **mix).mean)
    return _envelope(weights, np.array(bounds), fewest)


def _envelope(weights: Floats, bounds: Floats, fewest: float) -> Floats:
    """Return the vertices of the largest of the lines bound − weight·x, from x = `fewest` until it is flat."""
    joules, vertices = fewest, []
    while True:
        heights = bounds - weights * joules
        line = int(np.flatnonzero(heights >= heights.max() - 1e-12 * abs(heights.max()))[0])  # the flattest
        vertices.append((float(heights.max()), joules))
        if line == 0:
            return np.array(vertices)
        # The flatter lines lie below here; the envelope turns where the first of them comes up.
        joules = float(((bounds[line] - bounds[:line]) / (weights[line] - weights[:line])).min())


def verify_turnaround_bound(bound: TurnaroundBound, tasks: Tasks, cluster: Cluster, tolerance: float = 1e-9) -> bool:
    """Check a bound from its certificate alone, in plain NumPy, without the code that found it."""
    seconds = available_times(tasks, cluster)
    runs = rejections(tasks, seconds, cluster) == RAN
    if int(runs.sum()) != bound.tasks or not bound.tasks:
        return bound.mean <= 0.0 and int(runs.sum()) == bound.tasks
    if (bound.prices < 0).any() or not np.isfinite(bound.prices).all():
        return False
    release = _releases(tasks, seconds, cluster, runs)
    if bound.kind != "srpt":  # it covers whole tasks, which run only where they fit
        seconds = whole_times(tasks, seconds, cluster)
    arrival, seconds = tasks.arrival_time[runs], seconds[runs]
    charge = np.where(
        np.isfinite(seconds),
        np.where(np.isfinite(seconds), seconds, 0.0)
        * (bound.energy * cluster.per_class("watts") + bound.cost * cluster.per_class("dollars_per_second")),
        np.inf,
    )
    if bound.kind == "srpt":
        if float(bound.prices @ cluster.counts) > 1.0 + tolerance:
            return False
        works = np.where(np.isfinite(seconds), bound.prices * np.where(np.isfinite(seconds), seconds, 0.0), np.inf)
        shown = _verify_srpt(release, works.min(axis=1)) + float((release - arrival).sum() + charge.min(axis=1).sum())
    else:
        shown = _verify_prices(bound, arrival, release, seconds, charge) - float(
            (cluster.counts @ bound.prices) @ np.diff(bound.grid)
        )
    return bool(shown >= bound.total - tolerance * abs(bound.total))  # a plain one, for JSON


def _verify_prices(
    bound: TurnaroundBound, arrival: Floats, release: Floats, seconds: Floats, charge: Floats
) -> float:
    """Return Σ α_j: for every task the cheapest class and start among all candidates."""
    grid, total = bound.grid, 0.0
    paid = [np.concatenate([[0.0], np.cumsum(prices * np.diff(grid))]) for prices in bound.prices]
    for row in range(len(arrival)):
        least = np.inf
        for kind in np.flatnonzero(np.isfinite(seconds[row])):
            length = seconds[row, kind]
            ends = np.interp([release[row] + length], grid, paid[kind]) - np.interp([release[row]], grid, paid[kind])
            at_once = length + charge[row, kind] + ends[0]
            least = min(least, release[row] - arrival[row] + at_once)
            # A later start costs its delay at least: only starts within `at_once` of the release can be cheaper.
            low, high = np.searchsorted(grid, [release[row], release[row] + at_once + length])
            near = grid[low : high + 1]
            starts = np.concatenate([near, near - length])
            starts = starts[starts >= release[row]]
            if len(starts):
                price = np.interp(starts + length, grid, paid[kind]) - np.interp(starts, grid, paid[kind])
                least = min(least, float((starts - arrival[row] + length + charge[row, kind] + price).min()))
        total += least
    return total


def _verify_srpt(release: Floats, works: Floats) -> float:
    """Return the sum of turnarounds from the release under SRPT on one machine, by an event queue of its own."""
    import heapq

    order = np.argsort(release, kind="stable")
    heap: list[float] = []
    now, total, position = 0.0, 0.0, 0
    while position < len(order) or heap:
        if not heap:
            now = max(now, float(release[order[position]]))
        while position < len(order) and release[order[position]] <= now:
            heapq.heappush(heap, float(works[order[position]]))
            position += 1
        until = float(release[order[position]]) if position < len(order) else np.inf
        left = heapq.heappop(heap)
        spent = min(left, until - now)
        total += spent * (len(heap) + 1)
        now += spent
        if left > spent:
            heapq.heappush(heap, left - spent)
    return total


# --- finding the certificates --------------------------------------------------------------------------------------


def _releases(tasks: Tasks, seconds: Floats, cluster: Cluster, runs: Bools) -> Floats:
    """Return when each task that runs can start at the earliest: its arrival, or after the longest way to it."""
    heads = tasks.arrival_time
    if tasks.has_edges:
        heads, _ = compute_heads_and_tails(tasks, shortest_times(tasks, seconds, cluster), runs)
    released: Floats = heads[runs]
    return released


def _charges(seconds: Floats, cluster: Cluster, energy: float, cost: float) -> Floats:
    """Return energy·joules + cost·dollars by task and class."""
    rate = energy * cluster.per_class("watts") + cost * cluster.per_class("dollars_per_second")
    finite = np.isfinite(seconds)
    return np.where(finite, rate * np.where(finite, seconds, 0.0), np.inf)


def _srpt_bound(
    arrival: Floats, release: Floats, seconds: Floats, charge: Floats, cluster: Cluster
) -> TurnaroundBound:
    prices = find_prices(seconds, cluster.counts)
    finite = np.isfinite(seconds)
    works = np.where(finite, prices * np.where(finite, seconds, 0.0), np.inf).min(axis=1)
    order = np.argsort(release, kind="stable")
    total = _srpt(release[order], works[order]) + float((release - arrival).sum() + charge.min(axis=1).sum())
    return TurnaroundBound(total / len(arrival), "srpt", len(arrival), np.zeros(0), prices)


@jit
def _srpt(release: Floats, works: Floats) -> float:
    """Return the sum of turnarounds of a preemptive machine that always serves the shortest remaining work."""
    count = len(release)
    heap = np.empty(count)
    size, position = 0, 0
    now, total = 0.0, 0.0
    while position < count or size > 0:
        if size == 0:
            now = max(now, release[position])
        while position < count and release[position] <= now:
            at = size
            size += 1
            while at > 0 and works[position] < heap[(at - 1) // 2]:
                heap[at] = heap[(at - 1) // 2]
                at = (at - 1) // 2
            heap[at] = works[position]
            position += 1
        spent = heap[0] if position == count else min(heap[0], release[position] - now)
        total += spent * size
        now += spent
        heap[0] -= spent
        if heap[0] <= 0.0:
            size -= 1
            left, at, child = heap[size], 0, 1
            while child < size:
                if child + 1 < size and heap[child + 1] < heap[child]:
                    child += 1
                if left <= heap[child]:
                    break
                heap[at] = heap[child]
                at = child
                child = 2 * at + 1
            heap[at] = left
    return total


def _price_bound(
    arrival: Floats, release: Floats, seconds: Floats, charge: Floats, cluster: Cluster, iterations: int | None
) -> TurnaroundBound:
    order = np.argsort(release, kind="stable")
    arrival, release, seconds, charge = arrival[order], release[order], seconds[order], charge[order]
    counts = cluster.counts.astype(np.float64)
    kinds, starts, ends = _shortest_first(release, seconds, counts)
    count = len(release)
    finest = min(max(CELLS_PER_TASK * count, 16), MOST_CELLS)
    cells = min(finest, max(COARSEST, finest // 16))
    steps = iterations or int(np.clip(ITERATIONS * 2000 / count, FEWEST_ITERATIONS, ITERATIONS))
    grid = np.linspace(float(release.min()), float(ends.max()), cells + 1)
    value, prices = _ascend(
        release, seconds, charge, counts, grid, _waiting_per_device(kinds, release, starts, grid, counts), steps
    )
    while cells * REFINEMENT <= finest:
        cells *= REFINEMENT
        steps = max(steps // 2, 20)
        grid = np.linspace(grid[0], grid[-1], cells + 1)
        value, prices = _ascend(release, seconds, charge, counts, grid, np.repeat(prices, REFINEMENT, axis=1), steps)
    mean = (value + float((release - arrival).sum())) / count
    return TurnaroundBound(mean, "prices", count, grid, prices)


@jit
def _shortest_first(release: Floats, seconds: Floats, counts: Floats) -> tuple[Ints, Floats, Floats]:
    """Return class, start and end of every task in a schedule by least increase of the sum of turnarounds.

    A class of several devices counts as one that is as many times as fast: this only has to show where tasks wait.
    """
    tasks, classes = seconds.shape
    kinds = np.zeros(tasks, np.int64)
    starts, ends = np.zeros(tasks), np.zeros(tasks)
    heap = np.empty((classes, tasks), np.int64)
    size = np.zeros(classes, np.int64)
    free = np.zeros(classes)
    work = np.zeros(classes)
    for step in range(tasks + 1):
        now = release[step] if step < tasks else np.inf
        for kind in range(classes):
            while size[kind] > 0 and free[kind] <= now:
                row = heap[kind, 0]
                size[kind] -= 1
                last, at, child = heap[kind, size[kind]], 0, 1
                while child < size[kind]:
                    right = min(child + 1, size[kind] - 1)
                    if seconds[heap[kind, right], kind] < seconds[heap[kind, child], kind]:
                        child = right
                    if seconds[last, kind] <= seconds[heap[kind, child], kind]:
                        break
                    heap[kind, at] = heap[kind, child]
                    at = child
                    child = 2 * at + 1
                heap[kind, at] = last
                starts[row] = max(free[kind], release[row])
                ends[row] = starts[row] + seconds[row, kind]
                free[kind] = starts[row] + seconds[row, kind] / counts[kind]
                work[kind] -= seconds[row, kind]
        if step == tasks:
            break
        best, least = -1, np.inf
        for kind in range(classes):
            if counts[kind] > 0 and np.isfinite(seconds[step, kind]):
                length = seconds[step, kind]
                mean = work[kind] / size[kind] if size[kind] > 0 else 0.0
                behind = size[kind] * length / (length + mean) if size[kind] > 0 else 0.0  # a guess of its rank
                ahead = (size[kind] - behind) * min(mean, length)
                wait = max(free[kind] - now, 0.0) + ahead / counts[kind]
                growth = wait + length * (1.0 + behind / counts[kind])
                if growth < least:
                    best, least = kind, growth
        kinds[step] = best
        at = size[best]
        size[best] += 1
        work[best] += seconds[step, best]
        while at > 0 and seconds[step, best] < seconds[heap[best, (at - 1) // 2], best]:
            heap[best, at] = heap[best, (at - 1) // 2]
            at = (at - 1) // 2
        heap[best, at] = step
        if free[best] < now:
            free[best] = now
    return kinds, starts, ends


def _waiting_per_device(kinds: Ints, release: Floats, starts: Floats, grid: Floats, counts: Floats) -> Floats:
    """Return how many tasks wait per device, by class and cell: the first guess of the prices."""
    prices = np.zeros((len(counts), len(grid) - 1))
    for kind in np.flatnonzero(counts > 0):
        own = kinds == kind
        begin, end = (np.clip(np.searchsorted(grid, each[own]), 0, len(grid) - 1) for each in (release, starts))
        change = np.bincount(begin, minlength=len(grid)) - np.bincount(end, minlength=len(grid))
        prices[kind] = np.cumsum(change)[:-1] / counts[kind]
    return prices


def _ascend(
    release: Floats, seconds: Floats, charge: Floats, counts: Floats, grid: Floats, prices: Floats, steps: int
) -> tuple[float, Floats]:
    """Maximise the concave bound by projected subgradient steps (Adam with a falling step).

    Prices that start near the optimum, as those of a coarser grid do, are thrown off it by steps that are too long:
    after some steps without a gain the ascent goes on from the best prices with half the step.
    """
    gradient, mean, square = (np.zeros_like(prices) for _ in range(3))
    best, found, since = -np.inf, prices, 0
    scale = STEP * max(float(prices[counts > 0].mean()), 0.1)
    for step in range(1, steps + 1):
        value = _evaluate(release, seconds, charge, counts, grid, prices, gradient)
        best, found, since = (value, prices, 0) if value > best else (best, found, since + 1)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        if since == PATIENCE:
            prices, scale, since, mean = found, scale / 2, 0, np.zeros_like(mean)
            continue
        change = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-300)
        prices = np.maximum(prices + scale * (1 - step / (steps + 1)) * change, 0.0)
    return best, found


@jit
def _evaluate(
    release: Floats, seconds: Floats, charge: Floats, counts: Floats, grid: Floats, prices: Floats, gradient: Floats
) -> float:
    """Return the bound at some prices, and a subgradient: every task takes its cheapest class and start."""
    classes, cells = prices.shape
    origin, width = grid[0], (grid[cells] - grid[0]) / cells
    paid = np.empty((classes, cells + 1))  # integral of the prices up to each edge
    value = 0.0
    for kind in range(classes):
        paid[kind, 0] = 0.0
        for cell in range(cells):
            paid[kind, cell + 1] = paid[kind, cell] + prices[kind, cell] * width
            gradient[kind, cell] = -counts[kind] * width
        value -= counts[kind] * paid[kind, cells]
    for row in range(len(release)):
        least, taken, start = np.inf, 0, release[row]
        for kind in range(classes):
            length = seconds[row, kind]
            fixed = length + charge[row, kind] - release[row]
            if not np.isfinite(length) or release[row] + fixed >= least:
                continue
            until, price = paid[kind], prices[kind]
            whole = int(length / width)
            rest = length - whole * width  # a run is `whole` cells and this long
            here = int((release[row] - origin) / width)
            begin = release[row]
            cost = fixed + begin + _paid_until(begin + length - origin, width, until, price)
            cost -= _paid_until(begin - origin, width, until, price)
            if cost < least:
                least, taken, start = cost, kind, begin
            # Starts at an edge, and starts at which the run ends at an edge, which lie before it.
            for cell in range(here + 1, cells + 1):
                begin = origin + cell * width
                end = cell + whole
                last = begin - rest
                if fixed + last >= least:
                    break
                if last > release[row]:
                    since = until[cell] - price[cell - 1] * rest
                    cost = fixed + last + (until[end] if end < cells else until[cells]) - since
                    if cost < least:
                        least, taken, start = cost, kind, last
                cost = fixed + begin - until[cell]
                cost += until[end] + price[end] * rest if end < cells else until[cells]
                if cost < least:
                    least, taken, start = cost, kind, begin
        value += least
        _add_overlap(start - origin, start - origin + seconds[row, taken], width, gradient[taken])
    return value


@jit
def _paid_until(moment: float, width: float, until: Floats, price: Floats) -> float:
    """Return the integral of a class's prices from the grid's origin; beyond the grid they are 0."""
    cell = int(moment / width)
    if cell >= len(price):
        return float(until[len(price)])
    return float(until[cell] + price[cell] * (moment - cell * width))


@jit
def _add_overlap(begin: float, end: float, width: float, gradient: Floats) -> None:
    """Add to every cell the seconds that a run covers of it."""
    first, last = int(begin / width), int(end / width)
    if first >= len(gradient):
        return
    if first == last:
        gradient[first] += end - begin
        return
    gradient[first] += (first + 1) * width - begin
    for cell in range(first + 1, min(last, len(gradient))):
        gradient[cell] += width
    if last < len(gradient):
        gradient[last] += end - last * width
