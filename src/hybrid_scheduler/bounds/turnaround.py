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

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from hybrid_scheduler.bounds.graph import Bools, compute_heads_and_tails
from hybrid_scheduler.bounds.makespan import available_times, find_prices
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.compiler import jit_later, kernel, run_in_threads
from hybrid_scheduler.core.physics import rejections, shortest_times, whole_times
from hybrid_scheduler.core.placements import RAN
from hybrid_scheduler.core.tasks import Floats, Ints, Tasks
from hybrid_scheduler.errors import unknown_name

CELLS_PER_TASK, MOST_CELLS = 2, 2_000_000
ITERATIONS, FEWEST_ITERATIONS = 400, 16
STEP, LAST_STEP = 0.4, 0.28  # of the first iteration on a grid and on the finest, relative to the prices
MOMENTUM, MEMORY = 0.7, 0.99  # of the means of the gradient and of its square
VERIFIED_AT_ONCE = 200_000  # cells of the grid whose prices the verifier looks up together
PATIENCE = 15  # iterations without a gain before the ascent goes on from the best prices with half the step
MANY = 400_000  # tasks that are worth the start of a thread
BLOCK, SUPERBLOCK = 8, 1024  # cells that are passed over at once if no start in them can be the cheapest
FRONT_WEIGHTS = (1 / 32, 64.0)  # of the smallest and largest weight, relative to turnaround / joules at their least
OVERLOAD = 100.0  # times a task's seconds that SRPT has it wait: prices add no more than about those seconds to that
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
    if not whole or bound.mean > OVERLOAD * float((unsplit + charge).min(axis=1).mean()):
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
        served = verify_shortest_first(release, works.min(axis=1))
        shown = served + float((release - arrival).sum() + charge.min(axis=1).sum())
    else:
        shown = _verify_prices(bound, arrival, release, seconds, charge) - float(
            (cluster.counts @ bound.prices) @ np.diff(bound.grid)
        )
    return bool(shown >= bound.total - tolerance * abs(bound.total))  # a plain one, for JSON


def _verify_prices(
    bound: TurnaroundBound, arrival: Floats, release: Floats, seconds: Floats, charge: Floats
) -> float:
    """Return Σ α_j: for every task the cheapest class and start among all candidates."""
    grid = bound.grid
    paid = [np.concatenate([[0.0], np.cumsum(prices * np.diff(grid))]) for prices in bound.prices]
    least = np.full(len(arrival), np.inf)
    for kind, prices in enumerate(paid):
        rows = np.flatnonzero(np.isfinite(seconds[:, kind]))
        end = release[rows] + seconds[rows, kind]
        price = np.interp(end, grid, prices) - np.interp(release[rows], grid, prices)
        least[rows] = np.minimum(least[rows], end - arrival[rows] + charge[rows, kind] + price)
    for kind, prices in enumerate(paid):
        # A later start costs its delay at least: `last` is the last one that can be cheaper than what was found.
        rows = np.flatnonzero(np.isfinite(seconds[:, kind]))
        length = seconds[rows, kind]
        last = arrival[rows] + least[rows] - length - charge[rows, kind]
        for part, at in _cells_between(grid, release[rows], last):  # the price changes as it starts …
            many, end = rows[part], grid[at] + length[part]
            price = np.interp(end, grid, prices) - prices[at]
            np.minimum.at(least, many, end - arrival[many] + charge[many, kind] + price)
        for part, at in _cells_between(grid, release[rows] + length, last + length):  # … or as it ends
            many, start = rows[part], np.maximum(grid[at] - length[part], release[rows[part]])
            price = prices[at] - np.interp(start, grid, prices)
            np.minimum.at(least, many, grid[at] - arrival[many] + charge[many, kind] + price)
    return float(least.sum())


def _cells_between(grid: Floats, low: Floats, high: Floats) -> Iterator[tuple[Ints, Ints]]:
    """Yield every place in the grid between two limits, with the row of the limits; not all rows at once."""
    first = np.searchsorted(grid, low)
    count = np.maximum(np.searchsorted(grid, high, side="right") - first, 0)
    for part in np.split(np.arange(len(low)), np.flatnonzero(np.diff(np.cumsum(count) // VERIFIED_AT_ONCE)) + 1):
        begun = np.cumsum(count[part]) - count[part]
        rows = np.repeat(part, count[part])
        yield rows, np.arange(len(rows)) + np.repeat(first[part] - begun, count[part])


def verify_shortest_first(release: Floats, works: Floats) -> float:
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
    served = serve_shortest_first(release[order], works[order])
    total = served + float((release - arrival).sum() + charge.min(axis=1).sum())
    return TurnaroundBound(total / len(arrival), "srpt", len(arrival), np.zeros(0), prices)


@jit_later
def serve_shortest_first(release: Floats, works: Floats) -> float:
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
    return float(total)  # of NumPy in plain Python


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
    ascent = _Ascent(release - grid[0], seconds, charge, counts, float(grid[-1] - grid[0]))
    ascent.start(_waiting_per_device(kinds, release, starts, grid, counts))
    while True:
        last = cells * REFINEMENT > finest
        value = ascent.climb(steps, LAST_STEP if last else STEP)
        if last:
            break
        cells *= REFINEMENT
        steps = max(steps // 2, FEWEST_ITERATIONS)
        ascent.refine(REFINEMENT)
    grid = np.linspace(grid[0], grid[-1], cells + 1)
    mean = (value + float((release - arrival).sum())) / count
    return TurnaroundBound(mean, "prices", count, grid, ascent.prices)


@jit_later
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


class _Ascent:
    """Maximises the concave bound by projected subgradient steps (Adam with a falling step) on finer and finer grids.

    A price moves by a part of itself and of the mean: those of busy hours are many times those of idle ones. A finer
    grid goes on with the means of the coarser one, else its first steps would throw the prices off.
    """

    def __init__(self, release: Floats, seconds: Floats, charge: Floats, counts: Floats, span: float) -> None:
        self.prices = np.zeros((len(counts), 0))
        self._tasks = (release, seconds, charge)
        self._counts, self._span = counts, span
        self._starts, self._costs = np.empty_like(release), np.empty_like(release)
        self._kinds = np.empty(len(release), np.int64)
        self._steps = 0

    def start(self, prices: Floats) -> None:
        """Set the first prices, by class and cell."""
        self.prices = prices
        self._mean, self._square = np.zeros_like(prices), np.zeros_like(prices)

    def refine(self, parts: int) -> None:
        """Cut every cell into equal parts, which share its seconds of overload."""
        self.prices = np.repeat(self.prices, parts, axis=1)
        self._mean = np.repeat(self._mean / parts, parts, axis=1)
        self._square = np.repeat(self._square / parts**2, parts, axis=1)

    def climb(self, steps: int, length: float) -> float:
        """Make some steps and return the best value on this grid; its prices stay."""
        classes, cells = self.prices.shape
        width = self._span / cells
        gradient, paid = np.empty_like(self.prices), np.empty((classes, cells + 1))
        low, lowest = (np.empty((classes, cells // size + 1)) for size in (BLOCK, SUPERBLOCK))
        typical = max(float(self.prices[self._counts > 0].mean()), 0.1)
        prices, best, since = self.prices, -np.inf, 0
        for step in range(1, steps + 1):
            value = _integrate(self._counts, width, prices, gradient, paid, low, lowest)
            value += self._run_cheapest(width, prices, gradient, paid, low, lowest)
            since += 1
            if value > best:
                best, self.prices, since = value, prices, 0
            self._steps += 1
            scale = length * (1 - step / (steps + 1)) / (1 - MOMENTUM**self._steps)
            scale *= (1 - MEMORY**self._steps) ** 0.5
            moved = np.empty_like(prices)
            _move(prices, gradient, self._mean, self._square, scale, typical, moved)
            prices = moved
            if since == PATIENCE:
                prices, length, since = self.prices, length / 2, 0
                self._mean[:] = 0.0
        return best

    def _run_cheapest(
        self, width: float, prices: Floats, gradient: Floats, paid: Floats, low: Floats, lowest: Floats
    ) -> float:
        """Return what all tasks pay, each on its cheapest class and start; add their runs to the gradient.

        Every row is found by itself, and added in order: the number of threads changes no bit.
        """
        found, (_, seconds, _) = (self._kinds, self._starts, self._costs), self._tasks

        def choose(first: int, last: int) -> None:
            _choose_starts(first, last, *self._tasks, width, prices, paid, low, lowest, *found)

        def cover(first: int, last: int) -> None:
            for kind in range(first, last):
                _cover_cells(kind, self._kinds, self._starts, seconds, width, gradient[kind])

        run_in_threads(choose, len(seconds))
        run_in_threads(cover, len(prices), least=max(MANY // len(seconds), 1))
        return float(self._costs.sum())


@kernel
def _move(
    prices: Floats, gradient: Floats, mean: Floats, square: Floats, scale: float, typical: float, moved: Floats
) -> None:
    """Take one step from some prices to others, none below 0."""
    for kind in range(prices.shape[0]):
        for cell in range(prices.shape[1]):
            slope, price = gradient[kind, cell], prices[kind, cell]
            mean[kind, cell] = MOMENTUM * mean[kind, cell] + (1 - MOMENTUM) * slope
            square[kind, cell] = MEMORY * square[kind, cell] + (1 - MEMORY) * slope * slope
            change = mean[kind, cell] / (np.sqrt(square[kind, cell]) + 1e-300)
            moved[kind, cell] = max(price + scale * 0.5 * (typical + price) * change, 0.0)


@kernel
def _integrate(
    counts: Floats, width: float, prices: Floats, gradient: Floats, paid: Floats, low: Floats, lowest: Floats
) -> float:
    """Return what all devices cost, negative, and prepare the grid for `_choose_starts`.

    `paid` is the integral of the prices up to each edge, `low` and `lowest` the least of edge − paid in a block and
    its edge before: no start s there has a smaller s − paid(s), and what is paid until a run ends only grows with s.
    """
    classes, cells = prices.shape
    value = 0.0
    for kind in range(classes):
        total, least = 0.0, 0.0
        paid[kind, 0] = 0.0
        for block in range(lowest.shape[1]):
            lowest[kind, block] = np.inf
        for first in range(0, cells + 1, BLOCK):  # the edge before it was the last of the block before
            for edge in range(max(first, 1), min(first + BLOCK, cells + 1)):
                total += prices[kind, edge - 1] * width
                paid[kind, edge] = total
                least = min(least, edge * width - total)
            low[kind, first // BLOCK] = least
            lowest[kind, first // SUPERBLOCK] = min(lowest[kind, first // SUPERBLOCK], least)
            least = min(first + BLOCK - 1, cells) * width - total
        for cell in range(cells):
            gradient[kind, cell] = -counts[kind] * width
        value -= counts[kind] * total
    return value


@kernel
def _choose_starts(
    begin_row: int,
    end_row: int,
    release: Floats,
    seconds: Floats,
    charge: Floats,
    width: float,
    prices: Floats,
    paid: Floats,
    low: Floats,
    lowest: Floats,
    kinds: Ints,
    starts: Floats,
    costs: Floats,
) -> None:
    """Write for some tasks the class and start that are cheapest, and what they cost.

    Only where a second costs more than 1 does it pay to start later: the edge after such a cell, or a start in it at
    which the run ends at an edge. Times count from the grid's origin.
    """
    classes, cells = prices.shape
    per_second = 1.0 / width
    for row in range(begin_row, end_row):
        now = release[row]
        here = int(now * per_second)
        part = now - here * width
        least, taken, start = np.inf, 0, now
        for kind in range(classes):  # at once
            length = seconds[row, kind]
            cost = length + charge[row, kind]
            if cost < least:
                end = now + length
                last = int(end * per_second)
                cost += (
                    paid[kind, last] + prices[kind, last] * (end - last * width)
                    if last < cells
                    else paid[kind, cells]
                )
                cost -= paid[kind, here] + prices[kind, here] * part if here < cells else paid[kind, cells]
                if cost < least:
                    least, taken = cost, kind
        for kind in range(classes):  # later
            length = seconds[row, kind]
            fixed = length + charge[row, kind] - now
            if not fixed + now < least:
                continue
            until, price = paid[kind], prices[kind]
            whole = int(length * per_second)
            rest = length - whole * width  # a run is `whole` cells and this long
            cell = here + 1
            while cell <= cells:
                begin = cell * width
                if fixed + begin - rest >= least:
                    break
                if cell % BLOCK == 0:
                    paid_then = until[min(cell - 1 + whole, cells)]
                    if cell % SUPERBLOCK == 0 and fixed + lowest[kind, cell // SUPERBLOCK] + paid_then >= least:
                        cell += SUPERBLOCK
                        continue
                    if fixed + low[kind, cell // BLOCK] + paid_then >= least:
                        cell += BLOCK
                        continue
                saved = price[cell - 1] - 1.0  # by each second of this cell that is waited
                if saved > 0.0:
                    end = cell + whole
                    cost = fixed + begin - until[cell] + (until[end] if end < cells else until[cells])
                    if cost + saved * rest < least and begin - rest > now:
                        least, taken, start = cost + saved * rest, kind, begin - rest
                    cost += price[end] * rest if end < cells else 0.0
                    if cost < least:
                        least, taken, start = cost, kind, begin
                cell += 1
        kinds[row], starts[row], costs[row] = taken, start, least


@kernel
def _cover_cells(kind: int, kinds: Ints, starts: Floats, seconds: Floats, width: float, gradient: Floats) -> None:
    """Add to every cell the seconds that the runs on a class cover of it."""
    for row in range(len(starts)):
        if kinds[row] != kind:
            continue
        begin, end = starts[row], starts[row] + seconds[row, kind]
        first, last = int(begin / width), int(end / width)
        if first >= len(gradient):
            continue
        if first == last:
            gradient[first] += end - begin
            continue
        gradient[first] += (first + 1) * width - begin
        for cell in range(first + 1, min(last, len(gradient))):
            gradient[cell] += width
        if last < len(gradient):
            gradient[last] += end - last * width
