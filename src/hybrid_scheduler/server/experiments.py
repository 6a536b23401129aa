"""How an experiment stands, as its row in the database tells."""

from __future__ import annotations

from typing import cast

from hybrid_scheduler.server.schemas.experiments import Experiment, ExperimentState, Headline
from hybrid_scheduler.storage.store import Run


def state_of(run: Run) -> ExperimentState:
    """Return the state of an experiment: its run's status, and more where its progress says more."""
    told = (run.progress or {}).get("state")
    if run.status == "running":
        return "queued" if told == "queued" else "running"
    if run.status == "interrupted" and told == "cancelled":
        return "cancelled"
    return cast(ExperimentState, run.status)


def experiment_of(run: Run, unfinished: list[Run]) -> Experiment:
    """Return an experiment; `unfinished` are all that wait or run, oldest first."""
    progress, asked, summary = run.progress or {}, run.settings, run.summary or {}
    state = state_of(run)
    best = summary.get("headline")
    return Experiment(
        id=run.id,
        title=run.title,
        state=state,
        done=progress.get("done", 0),
        of=progress.get("of", len(asked["seeds"])),
        ahead=sum(each.id < run.id for each in unfinished) if state == "queued" else None,
        error=progress.get("error", ""),
        schedulers=asked["schedulers"],
        workload=asked["workload"],
        load=asked["load"],
        rate=asked["rate"],
        num_gpus=asked["num_gpus"],
        tasks=asked["tasks"],
        seeds=asked["seeds"],
        mode=asked["mode"],
        asked_at=run.started_at,
        ended_at=run.ended_at,
        headline=Headline(**best) if best else None,
    )
