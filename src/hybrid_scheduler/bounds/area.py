"""A certified lower bound of the makespan on shared clusters: work with one price per resource.

For prices λ ≥ 0 of a second of each resource (thousandths of cores, MiB of memory, thousandths of the GPUs of each
model) with Σ amount·λ = 1, jobs that arrive at or after time r need at least Σ seconds·(priced request) seconds after
r; a job that accepts several models pays the cheapest, for as long as it runs there. The prices are the certificate,
as in `makespan.py`. No job ends before its arrival plus its seconds either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybrid_scheduler.core.jobs import Jobs
from hybrid_scheduler.core.machines import NO_LIMIT, WHOLE, Machines
from hybrid_scheduler.core.schedule import find_rejected
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import SchedulerError

CORES, MEMORY = "cores", "memory"
TOLERANCE = 1e-9


@dataclass(frozen=True)
class AreaBound:
    """No schedule of the jobs ends before `end`; `prices` prove it by work that arrives from `since` on.

    Without prices it is the job in row `row` that cannot end earlier.
    """

    end: float
    prices: dict[str, float]
    since: float = 0.0
    row: int = -1


def area_bound(jobs: Jobs, machines: Machines) -> AreaBound:
    """Return the largest bound of work, with prices found by linear programming, and of single jobs."""
    kept = np.flatnonzero(~find_rejected(jobs, machines) & np.isfinite(jobs.seconds))
    if not len(kept):
        return AreaBound(0.0, {})
    alone = (jobs.arrival + jobs.best_seconds(machines))[kept]
    best = AreaBound(float(alone.max()), {}, row=int(kept[alone.argmax()]))
    for prices in list_prices(jobs.select(kept), machines):
        work = (jobs.seconds * price_jobs(jobs, machines, prices))[kept]
        ends = jobs.arrival[kept] + np.cumsum(work[::-1])[::-1]
        place = int(ends.argmax())
        if ends[place] > best.end:
            best = AreaBound(float(ends[place]), prices, float(jobs.arrival[kept][place]))
    return best


def list_amounts(machines: Machines) -> dict[str, float]:
    """Return how much of each resource there is: what is not limited has no price."""
    amounts = {CORES: float(machines.cpu_milli.sum())}
    if machines.memory_mib.max() < NO_LIMIT:
        amounts[MEMORY] = float(machines.memory_mib.sum())
    for name in machines.models:
        own = np.array([each == name for each in machines.model])
        amounts[f"gpu {name}".strip()] = float(machines.gpus[own].sum() * WHOLE)
    return {name: amount for name, amount in amounts.items() if amount > 0}


def price_jobs(jobs: Jobs, machines: Machines, prices: dict[str, float]) -> Floats:
    """Return what a second's work of each job costs; of several models that it accepts, the cheapest."""
    cost = prices.get(CORES, 0.0) * jobs.cpu_milli + prices.get(MEMORY, 0.0) * jobs.memory_mib
    cheapest, speed = np.full(len(jobs), np.inf), jobs.speeds_on(machines)
    accepted = jobs.accepted_models(machines)
    for bit, name in enumerate(machines.models):
        price = cost + jobs.gpus * jobs.gpu_milli * prices.get(f"gpu {name}".strip(), 0.0)
        cheapest = np.where(accepted >> bit & 1, np.minimum(cheapest, price / speed[:, bit]), cheapest)
    return np.where((jobs.gpus > 0) & np.isfinite(cheapest), cheapest, cost)


def list_prices(jobs: Jobs, machines: Machines) -> list[dict[str, float]]:
    """Return candidates: the best prices for all jobs together, and each resource alone."""
    amounts = list_amounts(machines)
    candidates = [{name: 1.0 / amount} for name, amount in amounts.items()]
    best = _solve(jobs, machines, amounts) if len(amounts) > 1 and len(machines.models) > 1 else None
    return [*([best] if best else []), *candidates]


def _solve(jobs: Jobs, machines: Machines, amounts: dict[str, float]) -> dict[str, float]:
    """Maximise the priced work: jobs of the same models and speeds share the price of the cheapest of them."""
    from scipy.optimize import linprog

    names, masks = list(amounts), np.where(jobs.gpus > 0, jobs.accepted_models(machines), 0)
    kinds, which = np.unique(np.column_stack([masks, jobs.speeds_on(machines)]), axis=0, return_inverse=True)
    groups, speed = kinds[:, 0].astype(np.int64), kinds[:, 1:]
    seconds = jobs.best_seconds(machines) / jobs.seconds.sum()  # cores and memory are held at least that long
    gain = np.zeros(len(names) + len(groups))
    gain[names.index(CORES)] = (seconds * jobs.cpu_milli).sum()
    if MEMORY in names:
        gain[names.index(MEMORY)] = (seconds * jobs.memory_mib).sum()
    work = jobs.seconds / jobs.seconds.sum() * jobs.gpus * jobs.gpu_milli
    gain[len(names) :] = np.bincount(which.ravel(), work, len(groups))
    rows = []
    for place, mask in enumerate(groups.tolist()):
        for bit, name in enumerate(machines.models):
            if mask >> bit & 1:  # its price is at most that of every model that it accepts
                row = np.zeros(len(gain))
                row[len(names) + place], row[names.index(f"gpu {name}".strip())] = speed[place, bit], -1.0
                rows.append(row)
    gain[len(names) :][groups == 0] = 0.0
    total = np.array([*amounts.values(), *np.zeros(len(groups))])
    # In units of the whole machine, so that all figures are of the order of 1.
    scale = np.where(total > 0, total, max(amounts.values()))
    limits = np.array(rows) / scale if rows else None
    found = linprog(
        -gain / scale,
        A_ub=limits,
        b_ub=np.zeros(len(rows)) if rows else None,
        A_eq=[(total / scale).tolist()],
        b_eq=[1.0],
        bounds=(0.0, None),
        method="highs",
    )
    if found.status != 0:
        raise SchedulerError(f"no prices were found ({found.message}): please report this")
    prices = np.maximum(found.x[: len(names)], 0.0) / scale[: len(names)]
    prices /= (prices * np.array(list(amounts.values()))).sum()
    return dict(zip(names, prices.tolist(), strict=True))


def verify_area_bound(bound: AreaBound, jobs: Jobs, machines: Machines) -> bool:
    """Whether a certificate proves its bound, checked job by job without what computed it."""
    rejected = find_rejected(jobs, machines)
    if not bound.prices:
        if bound.row < 0:
            return bound.end <= 0.0
        end = float(jobs.arrival[bound.row] + jobs.seconds[bound.row] * price_job(jobs, machines, bound.row, {}))
        return bound.end <= end * (1 + TOLERANCE) and not rejected[bound.row]
    if any(price < 0 for price in bound.prices.values()):
        return False
    work = 0.0
    for row in np.flatnonzero(~rejected & np.isfinite(jobs.seconds) & (jobs.arrival >= bound.since)).tolist():
        work += float(jobs.seconds[row]) * price_job(jobs, machines, row, bound.prices)
    return spend(bound.prices, machines) <= 1 + TOLERANCE and bound.end <= (bound.since + work) * (1 + TOLERANCE)


def spend(prices: dict[str, float], machines: Machines) -> float:
    """Return what a second of all machines costs, node by node."""
    spent = 0.0
    for cores, memory, gpus, model in zip(
        machines.cpu_milli.tolist(), machines.memory_mib.tolist(), machines.gpus.tolist(), machines.model, strict=True
    ):
        spent += cores * prices.get(CORES, 0.0) + gpus * WHOLE * prices.get(f"gpu {model}".strip(), 0.0)
        spent += memory * prices.get(MEMORY, 0.0)
    return spent


def price_job(jobs: Jobs, machines: Machines, row: int, prices: dict[str, float]) -> float:
    """Return what a second's work of one job costs where it is cheapest; without prices the seconds that it takes."""
    usable = _list_speeds(jobs, machines, row)
    if not prices:
        return 1.0 / max((speed for _, speed in usable), default=1.0)
    held = int(jobs.gpus[row]) * int(jobs.gpu_milli[row])
    cost = int(jobs.cpu_milli[row]) * prices.get(CORES, 0.0) + int(jobs.memory_mib[row]) * prices.get(MEMORY, 0.0)
    priced = ((cost + held * prices.get(f"gpu {name}".strip(), 0.0)) / speed for name, speed in usable)
    return min(priced, default=cost)


def _list_speeds(jobs: Jobs, machines: Machines, row: int) -> list[tuple[str, float]]:
    """Return the models that a job can use, and how fast it runs on each; none for a job without GPUs."""
    if not jobs.gpus[row]:
        return []
    named = {
        name: float(jobs.speed[row, bit])
        for bit, name in enumerate(jobs.model_names)
        if int(jobs.models[row]) >> bit & 1
    }
    return [(name, named.get(name, 1.0)) for name in machines.models if not named or name in named]
