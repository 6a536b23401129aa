"""Shared clusters: simulates wide jobs on nodes, and says who held what when."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, NamedTuple

import numpy as np
import orjson
from fastapi import APIRouter, Query

from hybrid_scheduler import registry
from hybrid_scheduler.bounds.area import area_bound
from hybrid_scheduler.core.job_metrics import measure_jobs
from hybrid_scheduler.core.machines import WHOLE, Machines
from hybrid_scheduler.core.schedule import Schedule
from hybrid_scheduler.core.spot import LEAVE, NOTICE, RETURN, Departures, Spot
from hybrid_scheduler.errors import InputError, unknown_name
from hybrid_scheduler.processes import run_jobs
from hybrid_scheduler.server.dependencies import Manager
from hybrid_scheduler.server.encoding import encode_json, round_figures
from hybrid_scheduler.server.schemas.base import errors
from hybrid_scheduler.server.schemas.clusters import ClusterOption, ClusterOptions, ClusterRun
from hybrid_scheduler.studies.jobs import JobStudy
from hybrid_scheduler.workloads.job_presets import JOB_PRESETS

MOST_JOBS = 200
"""Jobs of a run: it is interpreted, since few jobs are simulated sooner than the loop is compiled."""
RUN_SECONDS, CACHE_SECONDS = 60.0, 3600.0
BACKFILLING = ("none", "easy")
router = APIRouter(prefix="/api/clusters", tags=["clusters"])


class Wanted(NamedTuple):
    """What to simulate."""

    workload: str
    order: str
    backfill: str
    fit: str
    jobs: int
    seed: int
    spot: float


@router.get("", name="options", summary="What can be simulated", responses=errors())
async def list_options() -> ClusterOptions:
    """Return presets of jobs, orders of the queue, fit rules and kinds of backfilling."""
    presets = [ClusterOption(name=name, summary=each.summary, queue=True) for name, each in JOB_PRESETS.items()]
    fits = [ClusterOption(name=each.name, summary=each.summary, queue=True) for each in registry.fits]
    return ClusterOptions(
        workloads=presets, orders=_list_orders(), fits=fits, backfilling=list(BACKFILLING), most_jobs=MOST_JOBS
    )


def _list_orders() -> list[ClusterOption]:
    """Return the orders that need no past to learn from."""
    known = [(each, registry.job_orders.create(each.name)) for each in registry.job_orders]
    return [
        ClusterOption(name=each.name, summary=each.summary, queue=not order.preempts)
        for each, order in known
        if not order.learns
    ]


@router.get("/run", name="simulated", summary="Simulate a shared cluster", responses=errors(400))
async def simulate(
    manager: Manager,
    workload: Annotated[str, Query(description="A preset of jobs.", examples=["training_jobs"])] = "training_jobs",
    order: Annotated[str, Query(description="How the queue is sorted.", examples=["fcfs"])] = "fcfs",
    backfill: Annotated[str, Query(description="Who may pass the head: none or easy.")] = "easy",
    fit: Annotated[str, Query(description="How nodes are chosen.")] = "best",
    jobs: Annotated[int, Query(ge=2, le=MOST_JOBS, description="How many jobs.")] = 60,
    seed: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    spot: Annotated[float, Query(ge=0.0, le=1.0, description="Share of the nodes that leave and return.")] = 0.0,
) -> ClusterRun:
    """Run jobs of a preset by one policy, the same every time, and return every stint on every GPU."""
    wanted = Wanted(workload, order, backfill, fit, jobs, seed, spot)
    _check(wanted)
    key = f"cluster:{wanted}"
    body = await manager.cache.get(key)
    if body is None:
        async with manager.reading:
            body = await asyncio.to_thread(_run_in_process, wanted)
        await manager.cache.set(key, body, CACHE_SECONDS)
    return ClusterRun.model_validate(orjson.loads(body))


def _check(wanted: Wanted) -> None:
    """Refuse names that there are not, before a process is started."""
    orders = [each.name for each in _list_orders()]
    for kind, name, known in (
        ("preset of jobs", wanted.workload, JOB_PRESETS),
        ("order", wanted.order, orders),
        ("backfilling", wanted.backfill, BACKFILLING),
        ("fit rule", wanted.fit, registry.fits.table),
    ):
        if name not in known:
            raise unknown_name(kind, name, known)


def _run_in_process(wanted: Wanted) -> bytes:
    """Simulate in a process of its own, so that the live race goes on."""
    [outcome] = run_jobs(_simulate, [wanted], 1, RUN_SECONDS)
    if outcome.problem:
        raise InputError(f"{wanted.workload} by {wanted.order}: {outcome.problem}: take fewer jobs")
    body: bytes = outcome.value
    return body


def _simulate(wanted: Wanted) -> bytes:
    study = JobStudy.read(
        [wanted.workload],
        orders=(wanted.order,),
        backfilling=(wanted.backfill,),
        fits=(wanted.fit,),
        window_jobs=wanted.jobs,
        seeds=(wanted.seed,),
        spot=Spot(wanted.spot) if wanted.spot else None,
    )
    [(policy, parts)] = study.policies.items()
    case = study.cases()[0]
    schedule = registry.job_orders.create(parts[0]).run(
        case.jobs,
        case.machines,
        parts[1],
        registry.fits.create(parts[2]),
        departures=case.departures,
        interpreted=True,
    )
    bound = area_bound(case.jobs, case.machines).end
    document = describe_schedule(schedule, case.departures)
    title = f"{study.name}, {case.title}: {len(case.jobs)} jobs on {case.machines.describe()}"
    measures = measure_jobs(schedule, bound - float(case.jobs.arrival.min()))
    return encode_json({**document, "title": title, "policy": policy, "bound": bound, "measures": measures})


def describe_schedule(schedule: Schedule, departures: Departures | None) -> dict[str, Any]:
    """Return nodes, jobs and stints as plain data; GPUs are numbered on their nodes."""
    jobs, machines, lines = schedule.jobs, schedule.machines, schedule.list_stints()
    first = np.cumsum(machines.gpus) - machines.gpus
    end = float(np.nanmax(schedule.finish)) if schedule.ran.any() else float(jobs.arrival.max())
    columns = (lines.row, lines.node, lines.gpu - first[lines.node], lines.begin, lines.end)
    listed = zip(
        *(jobs.job_id, jobs.user, jobs.gpus, jobs.gpu_milli / WHOLE, jobs.cpu_milli / WHOLE, jobs.arrival),
        *(schedule.start, schedule.finish, schedule.interruptions),
        strict=True,
    )
    names = ("job", "user", "gpus", "gpu_share", "cores", "arrival", "start", "finish", "interruptions")
    document = {
        "nodes": _list_nodes(machines),
        "jobs": [dict(zip(names, (value.item() for value in each), strict=True)) for each in listed],
        "stints": [
            {"job": job, "node": node, "gpu": gpu if jobs.gpus[job] else None, "begin": begin, "end": finish}
            for job, node, gpu, begin, finish in zip(*(each.tolist() for each in columns), strict=True)
        ],
        "absences": [] if departures is None else list_absences(departures, end),
        "begin": float(jobs.arrival.min()),
        "end": end,
    }
    rounded: dict[str, Any] = round_figures(document)
    return rounded


def _list_nodes(machines: Machines) -> list[dict[str, Any]]:
    columns = zip(machines.model, machines.gpus.tolist(), machines.cpu_milli.tolist(), strict=True)
    return [{"model": model, "gpus": gpus, "cores": cores / WHOLE} for model, gpus, cores in columns]


def list_absences(departures: Departures, until: float) -> list[dict[str, Any]]:
    """Return when nodes leave and are back, up to a moment."""
    found = []
    for node in np.unique(departures.node).tolist():
        moments = [
            departures.moment[(departures.node == node) & (departures.kind == kind)].tolist()
            for kind in (NOTICE, LEAVE, RETURN)
        ]
        found += [
            {"node": node, "notice": notice, "leave": leave, "back": back}
            for notice, leave, back in zip(*moments, strict=True)
            if notice < until
        ]
    return found
