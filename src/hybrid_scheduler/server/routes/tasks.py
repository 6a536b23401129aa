"""Tasks: submit one, list them, audit one with the explanations of all schedulers, and add measured results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query

from hybrid_scheduler.core import Task
from hybrid_scheduler.live.snapshot import TaskRecord, TaskResult
from hybrid_scheduler.schedulers import explain
from hybrid_scheduler.server.dependencies import After, Manager, RunQuery, WatchedManager, require, resolve_run
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.schemas import tasks as schemas
from hybrid_scheduler.server.schemas.base import COMMAND, MAX_ID, errors
from hybrid_scheduler.storage.rows import Batch, ResultRows

NOT_STORED = "task {task_id} is not stored, or no longer: GET /api/tasks lists what is there"
router = APIRouter(prefix="/api/tasks", tags=["tasks"])
TaskId = Annotated[int, Path(ge=0, le=MAX_ID, description="Number of the task in its run.", examples=[101])]
Devices = Mapping[int, tuple[str, str]]  # name and kind by index


@router.post("", status_code=201, summary="Submit a task", responses=errors(*COMMAND))
async def create(manager: Manager, task: schemas.TaskCreate) -> schemas.TaskOutcome:
    """Let a task arrive now; return the decision of every scheduler with its explanation.

    The task joins the race like any other: it is stored, counted, and shown to every client.
    """
    require(manager.snapshot())
    arriving = Task(task.task_id or 0, task.size, task.compute_intensity, task.memory_required)
    record, explanations = await manager.submit(arriving)
    devices = {each.index: (each.name, each.kind) for each in require(manager.snapshot()).devices}
    decisions = {
        name: schemas.Verdict(
            result=_build_result(record, name, result),
            explanation=_build_explanation(explanations[name], devices, record.arrival_time),
        )
        for name, result in record.results.items()
    }
    return schemas.TaskOutcome(
        run_id=manager.run_id,
        your_id=task.task_id,
        task=schemas.Task.model_validate(record),
        optimal_gpu_fraction=record.optimal_gpu_fraction,
        optimal_time=record.optimal_time,
        decisions=decisions,
    )


@router.get("", summary="Tasks of a run", responses=errors(404))
async def page(
    manager: Manager,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Tasks at most.")] = 100,
    run: RunQuery = None,
) -> schemas.TaskPage:
    """Return tasks of a run in order of their numbers; an empty page before any run."""
    run_id = await resolve_run(manager, run)
    rows = [] if run_id is None else await manager.store.tasks_page(run_id, after, limit)
    tasks = [schemas.Task.model_validate(row) for row in rows]
    return schemas.TaskPage(run_id=run_id, tasks=tasks, next=tasks[-1].task_id if len(tasks) == limit else None)


@router.get("/{task_id}", summary="Everything about a task", responses=errors(404))
async def audit(manager: WatchedManager, task_id: TaskId, run: RunQuery = None) -> schemas.TaskAudit:
    """Return a task, its results by all schedulers, and every attempt; a task just placed is there at once."""
    run_id = await resolve_run(manager, run)
    recent = await manager.find_task(task_id) if run_id is not None and run_id == manager.run_id else None
    found, explanations = await _load_task(manager, run_id, task_id), {}
    if recent:
        record, devices = recent.record, dict(enumerate(recent.devices))
        task, results = found or (schemas.Task.model_validate(record), [])
        # It may not be committed yet, or wait with some of the schedulers.
        stored = {each.scheduler_name for each in results}
        unstored = [each for each in record.results.items() if each[0] not in stored]
        results += [_build_result(record, name, result) for name, result in unstored]
        found = task, sorted(results, key=lambda each: (each.scheduler_name, each.attempt))
        for name, each in recent.explanations.items():
            explanations[name] = _build_explanation(each, devices, record.arrival_time)
    if run_id is None or found is None:
        raise HTTPException(404, NOT_STORED.format(task_id=task_id))
    task, results = found
    last = {each.scheduler_name: each.finish_time for each in results}  # of each: attempts come in order
    ends = {name: finish for name, finish in last.items() if finish is not None}
    return schemas.TaskAudit(
        run_id=run_id,
        task=task,
        results=results,
        attempts=Counter(each.scheduler_name for each in results),
        fastest=min(ends, key=ends.__getitem__, default=None),
        explanations=explanations,
    )


@router.post(
    "/{task_id}/results",
    name="create",
    status_code=201,
    summary="Add a measured result",
    responses=errors(*COMMAND, 404),
)
async def add_result(
    manager: Manager, task_id: TaskId, result: schemas.SchedulerResultCreate, run: RunQuery = None
) -> schemas.SchedulerResult:
    """Store the result of a task that really ran elsewhere; it is returned with the others, marked as measured."""
    run_id = await resolve_run(manager, run)
    found = await _load_task(manager, run_id, task_id)
    if run_id is None or found is None:
        raise HTTPException(404, NOT_STORED.format(task_id=task_id))
    task, others = found
    if any((each.scheduler_name, each.attempt) == (result.scheduler_name, result.attempt) for each in others):
        raise ConflictError(
            f"task {task_id} has attempt {result.attempt} of '{result.scheduler_name}' already: send the next attempt"
        )
    start = task.arrival_time + result.waiting_time
    added = schemas.SchedulerResult(
        task_id=task.task_id,
        **result.model_dump(),
        status=0,
        start_time=start,
        finish_time=start + result.actual_time,
        turnaround_time=result.waiting_time + result.actual_time,
        measured=True,
    )
    columns = {name: [value] for name, value in added.model_dump(exclude={"scheduler_name", "measured"}).items()}
    rows = ResultRows(scheduler_name=added.scheduler_name, measured=True, **columns)
    await manager.store.write(Batch(run_id, results=(rows,)))
    return added


async def _load_task(
    manager: RaceManager, run_id: int | None, task_id: int
) -> tuple[schemas.Task, list[schemas.SchedulerResult]] | None:
    """Return a stored task and its results."""
    rows = [] if run_id is None else await manager.store.tasks_page(run_id, task_id - 1, 1)
    if run_id is None or not rows or rows[0]["task_id"] != task_id:
        return None
    results = await manager.store.task_results(run_id, task_id)
    return schemas.Task.model_validate(rows[0]), [schemas.SchedulerResult.model_validate(row) for row in results]


def _build_result(record: TaskRecord, name: str, result: TaskResult) -> schemas.SchedulerResult:
    """Return a result of the race with the column names of the database."""
    return schemas.SchedulerResult(
        **vars(result),  # attempt, GPU share, device and status have the same names
        task_id=record.task_id,
        scheduler_name=name,
        start_time=result.start,
        finish_time=result.finish,
        actual_time=result.time,
        waiting_time=result.waiting,
        turnaround_time=result.turnaround,
        energy_consumption=result.energy,
        execution_cost=result.cost,
        measured=record.measured,
    )


def _build_explanation(explanation: explain.Explanation, devices: Devices, now: float) -> schemas.Explanation:
    candidates = []
    for each in explanation.candidates:
        name, kind = devices.get(each.device, ("", ""))
        figures: dict[str, Any] = asdict(each)
        predicted = figures.pop("seconds")
        candidates.append(schemas.Candidate(device_name=name, kind=kind, predicted_time=predicted, **figures))
    why = describe_decision(explanation, {index: name for index, (name, _) in devices.items()}, now)
    return schemas.Explanation(**vars(explanation) | {"why": why, "candidates": candidates})


def describe_decision(explanation: explain.Explanation, names: Mapping[int, str], now: float) -> str:
    """Return the placement and its rationale in one line."""
    device, share = names.get(explanation.device, "no device"), explanation.gpu_fraction
    place = f"{share:.0%} on {device}, the rest on a CPU" if 0.0 < share < 1.0 else f"whole on {device}"
    weights = {name: abs(value) for name, value in explanation.contributions.items() if math.isfinite(value)}
    feature = f"; mostly because of {max(weights, key=weights.__getitem__)}" if weights else ""
    return place + _describe_rationale(explanation, names, now) + feature


def _describe_rationale(explanation: explain.Explanation, names: Mapping[int, str], now: float) -> str:
    known = [each for each in explanation.candidates if math.isfinite(each.finish)]
    chosen = next((each for each in known if each.chosen), None)
    if chosen is None:
        return f": it predicts no times, its rule is: {explanation.rule}"
    text = f": the whole task would end there {chosen.finish - now:.3g} s from now"
    others = [each for each in known if not each.chosen]
    if not others:
        return text + ", and nowhere else"
    rival = min(others, key=lambda each: each.finish)
    gap, name = rival.finish - chosen.finish, names.get(rival.device, "another device")
    if gap >= 0:
        return text + f", {gap:.3g} s before {name}, the next best"
    return text + f", {-gap:.3g} s after {name}, which it passes over"
