"""What a list of runs tells: taken from settings and summaries, without reading a single result."""

from __future__ import annotations

import math
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hybrid_scheduler.live.settings import SIMULATED
from hybrid_scheduler.server.schemas.runs import (
    Headline,
    RunLine,
)
from hybrid_scheduler.storage.store import COMPARISON, Run

if TYPE_CHECKING:
    from hybrid_scheduler.server.race import Manager


CANNOT_REPEAT = "measured, and what really ran cannot be played again"


async def lines_of(manager: Manager, runs: list[Run]) -> list[RunLine]:
    """Return runs as lines of a list."""
    counted = await manager.store.last_tasks([run.id for run in runs])
    return [RunLine(**asdict(run) | about(manager, run, counted.get(run.id))) for run in runs]


def about(manager: Manager, run: Run, last_task: int | None) -> dict[str, Any]:
    """Return what a line tells beside the columns of a run."""
    settings, summary = run.settings, run.summary or {}
    counted = summary.get("tasks") if run.kind == COMPARISON else None if last_task is None else last_task + 1
    return {
        "current": run.id == manager.run_id,
        "measured": is_measured(run),
        "schedulers": settings.get("schedulers", []),
        "workload": workload_of(run),
        "load": settings.get("load"),
        "rate": settings.get("rate"),
        "num_gpus": settings.get("num_gpus"),
        "tasks": counted,
        "duration": ((run.ended_at or datetime.now(UTC)) - run.started_at).total_seconds(),
        "headline": headline_of(manager, run),
    }


def is_measured(run: Run) -> bool:
    """Whether the tasks of a run really ran; runs of older versions were all simulated."""
    return bool(run.settings.get("backend", SIMULATED) != SIMULATED)


def workload_of(run: Run) -> str:
    """Return the workload that a run began with."""
    return str(run.settings.get("workload" if run.kind == COMPARISON else "preset", ""))


def headline_of(manager: Manager, run: Run) -> Headline | None:
    """Return who did best; None if it is not known."""
    summary = run.summary or {}
    if run.kind == COMPARISON:
        best = summary.get("headline")
        return Headline(**best) if best else None
    return _best(scheduler_states(manager, run))


def scheduler_states(manager: Manager, run: Run) -> list[dict[str, Any]]:
    """Return what is known about the schedulers of a live run: how they stand, or how they ended."""
    snapshot = manager.snapshot()
    if run.status == "running" and run.id == manager.run_id and snapshot is not None:
        return [asdict(each) for each in snapshot.schedulers]
    states: list[dict[str, Any]] = (run.summary or {}).get("snapshot", {}).get("schedulers", [])
    return states


def _best(states: list[dict[str, Any]]) -> Headline | None:
    known = {each["name"]: each["mean_turnaround"] for each in states if each["tasks"]}
    finite = {name: mean for name, mean in known.items() if mean is not None and math.isfinite(mean)}
    name = min(finite, key=finite.__getitem__, default=None)
    return None if name is None else Headline(scheduler=name, mean_turnaround=finite[name])
