"""Tasks: one by hand, a page of them, and everything about one."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request

from hybrid_scheduler.core.tasks import Task as ModelTask
from hybrid_scheduler.live.snapshot import TaskRecord, TaskResult
from hybrid_scheduler.schedulers import explain
from hybrid_scheduler.server.answers import RunQuery, manager_of, meant_run, required_snapshot
from hybrid_scheduler.server.feed import Recalled
from hybrid_scheduler.server.race import Manager
from hybrid_scheduler.server.rationale import why
from hybrid_scheduler.server.schemas.base import LARGEST_ID, ORDER, errors
from hybrid_scheduler.server.schemas.tasks import (
    Candidate,
    Explanation,
    SchedulerResult,
    Task,
    TaskAudit,
    TaskCreate,
    TaskOutcome,
    TaskPage,
    Verdict,
)

NO_TASK = "task {task_id} is not stored, or no longer: GET /api/tasks lists what is there"
router = APIRouter(prefix="/api/tasks", tags=["tasks"])
TaskId = Annotated[int, Path(ge=0, le=LARGEST_ID, description="Number of the task in its run.", examples=[101])]


@router.post("", status_code=201, summary="A task by hand", responses=errors(*ORDER))
async def create(request: Request, task: TaskCreate) -> TaskOutcome:
    """Let a task arrive now; return what every scheduler decided, and why.

    The task joins the race like any other: it is stored, counted, and seen by everyone who watches.
    """
    manager = manager_of(request)
    required_snapshot(manager)
    record, reasons = await manager.submit(
        ModelTask(task.task_id or 0, task.size, task.compute_intensity, task.memory_required)
    )
    names = {each.index: (each.name, each.kind) for each in required_snapshot(manager).devices}
    return TaskOutcome(
        run_id=manager.run_id,
        your_id=task.task_id,
        task=Task.model_validate(record),
        optimal_gpu_fraction=record.optimal_gpu_fraction,
        optimal_time=record.optimal_time,
        decisions={
            name: Verdict(result=_result(record, name, made), explanation=_explained(reasons[name], names, record))
            for name, made in record.results.items()
        },
    )


@router.get("", summary="Tasks of a run", responses=errors(404))
async def page(
    request: Request,
    after: Annotated[int | None, Query(ge=0, le=LARGEST_ID, description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Tasks at most.")] = 100,
    run: RunQuery = None,
) -> TaskPage:
    """Return tasks of a run in order of their numbers; an empty page before any run."""
    manager = manager_of(request)
    run_id = await meant_run(manager, run)
    rows = [] if run_id is None else await manager.store.tasks_page(run_id, after, limit)
    tasks = [Task.model_validate(row) for row in rows]
    return TaskPage(run_id=run_id, tasks=tasks, next=tasks[-1].task_id if len(tasks) == limit else None)


@router.get("/{task_id}", summary="Everything about a task", responses=errors(404))
async def audit(request: Request, task_id: TaskId, run: RunQuery = None) -> TaskAudit:
    """Return a task, what every scheduler did with it, and every attempt; one just placed is there at once."""
    manager = manager_of(request)
    run_id = await meant_run(manager, run)
    recalled = await manager.recall(task_id) if run_id is not None and run_id == manager.run_id else None
    found = None if run_id is None else await stored(manager, run_id, task_id) or _remembered(recalled)
    if run_id is None or found is None:
        raise HTTPException(404, NO_TASK.format(task_id=task_id))
    task, results = found
    return TaskAudit(
        run_id=run_id,
        task=task,
        results=results,
        attempts=Counter(each.scheduler_name for each in results),
        fastest=_fastest(results),
        explanations=_reasons(recalled),
    )


def _fastest(results: list[SchedulerResult]) -> str | None:
    """Return who ended first; of a scheduler that had to start again only the last attempt ended."""
    last = {each.scheduler_name: each.finish_time for each in results}  # attempts come in order
    ends = {name: finish for name, finish in last.items() if finish is not None}
    return min(ends, key=lambda name: ends[name]) if ends else None


async def stored(manager: Manager, run_id: int, task_id: int) -> tuple[Task, list[SchedulerResult]] | None:
    """Return a task and its results as they are stored, None if it is not there."""
    rows = await manager.store.tasks_page(run_id, task_id - 1, 1)
    if not rows or rows[0]["task_id"] != task_id:
        return None
    results = await manager.store.results_of(run_id, task_id)
    return Task.model_validate(rows[0]), [SchedulerResult.model_validate(row) for row in results]


def _remembered(recalled: Recalled | None) -> tuple[Task, list[SchedulerResult]] | None:
    """Return a task that may not be committed yet."""
    if recalled is None:
        return None
    record = recalled.record
    made = [_result(record, name, result) for name, result in sorted(record.results.items())]
    return Task.model_validate(record), made


def _reasons(recalled: Recalled | None) -> dict[str, Explanation]:
    if recalled is None:
        return {}
    names = dict(enumerate(recalled.devices))
    return {name: _explained(each, names, recalled.record) for name, each in recalled.reasons.items()}


def _result(record: TaskRecord, name: str, made: TaskResult) -> SchedulerResult:
    """Name the figures of the engine as the store does."""
    return SchedulerResult(
        task_id=record.task_id,
        scheduler_name=name,
        attempt=made.attempt,
        gpu_fraction=made.gpu_fraction,
        device=made.device,
        status=made.status,
        start_time=made.start,
        finish_time=made.finish,
        actual_time=made.time,
        waiting_time=made.waiting,
        turnaround_time=made.turnaround,
        energy_consumption=made.energy,
        execution_cost=made.cost,
        measured=record.measured,
    )


def _explained(reason: explain.Explanation, names: dict[int, tuple[str, str]], record: TaskRecord) -> Explanation:
    words = why(reason, {index: name for index, (name, _) in names.items()}, record.arrival_time)
    return Explanation(
        gpu_fraction=reason.gpu_fraction,
        device=reason.device,
        rule=reason.rule,
        why=words,
        expected_time=reason.expected_time,
        expected_finish=reason.expected_finish,
        candidates=[_candidate(each, *names.get(each.device, ("", ""))) for each in reason.candidates],
        contributions=dict(reason.contributions),
    )


def _candidate(candidate: explain.Candidate, name: str, kind: str) -> Candidate:
    figures: dict[str, Any] = asdict(candidate)
    return Candidate(device_name=name, kind=kind, predicted_time=figures.pop("seconds"), **figures)
