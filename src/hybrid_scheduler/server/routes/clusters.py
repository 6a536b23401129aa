"""Shared clusters: simulates wide jobs, or runs kept ones again, and says page by page who held what when."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
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
from hybrid_scheduler.errors import InputError, SchedulerError, unknown_name
from hybrid_scheduler.processes import run_jobs
from hybrid_scheduler.server.dependencies import Manager
from hybrid_scheduler.server.encoding import encode_json, round_figures
from hybrid_scheduler.server.schemas.base import errors
from hybrid_scheduler.server.schemas.clusters import ClusterOption, ClusterOptions, ClusterRun, KeptJobs
from hybrid_scheduler.studies.jobs import JobStudy, is_jobs, load_jobs, run_policy
from hybrid_scheduler.studies.results import RESULT, read_manifest
from hybrid_scheduler.workloads.job_presets import JOB_PRESETS

PAGE_JOBS = 200
FEW_JOBS = 600
"""Jobs of a run that is interpreted: so few are simulated, in seconds, sooner than the loop is compiled."""
MOST_JOBS = 5000
MOST_KEPT = 50_000
"""Jobs of a window of a kept run."""
RUN_SECONDS, CACHE_SECONDS = 300.0, 3600.0
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
    folder: str = ""  # of a kept run, in place of all of these
    policy: str = ""
    window: int = 0


@router.get("", name="options", summary="What can be simulated", responses=errors())
async def list_options(manager: Manager) -> ClusterOptions:
    """Return presets of jobs, orders of the queue, fit rules, kinds of backfilling, and the runs that were kept."""
    kept = await asyncio.to_thread(list_kept, manager.settings.kept_jobs)
    presets = [ClusterOption(name=name, summary=each.summary, queue=True) for name, each in JOB_PRESETS.items()]
    fits = [ClusterOption(name=each.name, summary=each.summary, queue=True) for each in registry.fits]
    return ClusterOptions(
        workloads=presets,
        orders=_list_orders(),
        fits=fits,
        backfilling=list(BACKFILLING),
        most_jobs=MOST_JOBS,
        kept=kept,
    )


def list_kept(folder: Path) -> list[KeptJobs]:
    """Return the kept runs of a folder by name; damaged ones, and those of policy files, are left out."""
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            own = [name for name in read_manifest(path)["sha256"] if name.endswith(".py")]
            if own or not is_jobs(path):  # a service runs no programs that it finds
                continue
            kept = json.loads((path / RESULT).read_text(encoding="utf-8"))
            windows = [each["window"] for each in kept["bounds"]]
            found.append(
                KeptJobs(name=path.name, source=kept["source"], policies=list(kept["policies"]), windows=windows)
            )
        except (SchedulerError, OSError, ValueError, KeyError, TypeError):
            continue
    return found


def _list_orders() -> list[ClusterOption]:
    """Return the orders that need no past to learn from."""
    known = [(each, registry.job_orders.create(each.name)) for each in registry.job_orders]
    return [
        ClusterOption(name=each.name, summary=each.summary, queue=not order.preempts)
        for each, order in known
        if not order.learns
    ]


@router.get("/run", name="simulated", summary="Simulate a shared cluster, or a kept run", responses=errors(400))
async def simulate(
    manager: Manager,
    workload: Annotated[str, Query(description="A preset of jobs.", examples=["training_jobs"])] = "training_jobs",
    order: Annotated[str, Query(description="How the queue is sorted.", examples=["fcfs"])] = "fcfs",
    backfill: Annotated[str, Query(description="Who may pass the head: none or easy.")] = "easy",
    fit: Annotated[str, Query(description="How nodes are chosen.")] = "best",
    jobs: Annotated[int, Query(ge=2, le=MOST_JOBS, description="How many jobs.")] = 200,
    seed: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    spot: Annotated[float, Query(ge=0.0, le=1.0, description="Share of the nodes that leave and return.")] = 0.0,
    kept: Annotated[str, Query(description="Name of a kept run, in place of all these.", max_length=200)] = "",
    policy: Annotated[str, Query(description="One of its policies; the first if empty.", max_length=200)] = "",
    window: Annotated[int, Query(ge=0, le=100_000, description="Number of one of its windows.")] = 0,
    page: Annotated[int, Query(ge=0, le=100_000, description="Number of the page; the last if there are fewer.")] = 0,
) -> ClusterRun:
    """Run jobs by one policy, the same every time; return every stint on every GPU in the time of a page."""
    wanted = Wanted(workload, order, backfill, fit, jobs, seed, spot)
    if kept:
        wanted = await asyncio.to_thread(_find_kept, manager.settings.kept_jobs, kept, policy, window)
    else:
        _check(wanted)
    key = f"cluster:{wanted}"
    body = await manager.cache.get(key)
    if body is None:
        async with manager.reading:
            body = await asyncio.to_thread(_run_in_process, wanted)
        await manager.cache.set(key, body, CACHE_SECONDS)
    return ClusterRun.model_validate(cut_page(orjson.loads(body), page))


def _find_kept(folder: Path, name: str, policy: str, window: int) -> Wanted:
    """Return what to run again; only names that are listed are taken."""
    listed = {each.name: each for each in list_kept(folder)}
    if name not in listed:
        raise unknown_name("kept run", name, listed)
    found = listed[name]
    if policy and policy not in found.policies:
        raise unknown_name("policy", policy, found.policies)
    if window >= len(found.windows):
        raise InputError(f"{name} has {len(found.windows)} windows, there is no number {window}: count from 0")
    own = Wanted(name, "", "", "", 0, 0, 0.0)
    return own._replace(folder=str(folder / name), policy=policy or found.policies[0], window=window)


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
        raise InputError(f"{wanted.workload} {wanted.policy or wanted.order}: {outcome.problem}: take fewer jobs")
    body: bytes = outcome.value
    return body


def _simulate(wanted: Wanted) -> bytes:
    study = load_jobs(wanted.folder)[0].study if wanted.folder else _build_study(wanted)
    policy = wanted.policy or next(iter(study.policies))
    case, (order, backfill, fit) = study.cases()[wanted.window], study.policies[policy]
    if len(case.jobs) > MOST_KEPT:
        raise InputError(f"a window has {len(case.jobs):,} jobs, at most {MOST_KEPT:,} are shown")
    schedule = run_policy(study, case, order, backfill, fit, interpreted=len(case.jobs) <= FEW_JOBS)
    bound = area_bound(case.jobs, case.machines).end
    document = describe_schedule(schedule, case.departures)
    title = f"{study.name}, {case.title}: {len(case.jobs):,} jobs on {case.machines.describe()}"
    measures = measure_jobs(schedule, bound - float(case.jobs.arrival.min()), study.threshold)
    return encode_json({**document, "title": title, "policy": policy, "bound": bound, "measures": measures})


def _build_study(wanted: Wanted) -> JobStudy:
    return JobStudy.read(
        [wanted.workload],
        orders=(wanted.order,),
        backfilling=(wanted.backfill,),
        fits=(wanted.fit,),
        window_jobs=wanted.jobs,
        seeds=(wanted.seed,),
        spot=Spot(wanted.spot) if wanted.spot else None,
    )


def cut_page(run: dict[str, Any], page: int) -> dict[str, Any]:
    """Return one page of a run: `PAGE_JOBS` jobs start in its time, and those that still run are on it too.

    Stints keep their begin and end, so that a job is told whole by every page that shows it.
    """
    jobs = run["jobs"]
    starts = sorted(job["arrival"] if job["start"] is None else job["start"] for job in jobs)[::PAGE_JOBS]
    page = min(page, len(starts) - 1)
    begin = starts[page] if page else run["begin"]
    end = starts[page + 1] if page + 1 < len(starts) else run["end"]
    stints = [each for each in run["stints"] if each["begin"] < end and each["end"] > begin]
    idle = [row for row, job in enumerate(jobs) if job["start"] is None and begin <= job["arrival"] <= end]
    shown = sorted({each["job"] for each in stints}.union(idle))
    places = {row: place for place, row in enumerate(shown)}
    return run | {
        "jobs": [jobs[row] for row in shown],
        "stints": [each | {"job": places[each["job"]]} for each in stints],
        "absences": [each for each in run["absences"] if each["notice"] <= end and each["back"] >= begin],
        "page": page,
        "pages": len(starts),
        "total_jobs": len(jobs),
        "begin": begin,
        "end": end,
    }


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
