"""Results that were measured elsewhere, beside those of the race."""

from __future__ import annotations

from fastapi import APIRouter, HTTPException, Request

from hybrid_scheduler.server.answers import RunQuery, manager_of, meant_run
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.routes.tasks import NO_TASK, TaskId, stored
from hybrid_scheduler.server.schemas.base import ORDER, errors
from hybrid_scheduler.server.schemas.tasks import SchedulerResult, SchedulerResultCreate, Task
from hybrid_scheduler.storage.rows import Batch, ResultRows

router = APIRouter(prefix="/api/tasks", tags=["tasks"])


@router.post(
    "/{task_id}/results", status_code=201, summary="A result measured elsewhere", responses=errors(*ORDER, 404)
)
async def create(
    request: Request, task_id: TaskId, result: SchedulerResultCreate, run: RunQuery = None
) -> SchedulerResult:
    """Store what became of a task that really ran; it is told with the task's other results, marked as measured."""
    manager = manager_of(request)
    run_id = await meant_run(manager, run)
    found = None if run_id is None else await stored(manager, run_id, task_id)
    if run_id is None or found is None:
        raise HTTPException(404, NO_TASK.format(task_id=task_id))
    task, others = found
    if any((each.scheduler_name, each.attempt) == (result.scheduler_name, result.attempt) for each in others):
        raise ConflictError(
            f"task {task_id} has attempt {result.attempt} of '{result.scheduler_name}' already: send the next attempt"
        )
    made = _measured(task, result)
    await manager.store.write(Batch(run_id, results=(_columns(made),)))
    return made


def _measured(task: Task, result: SchedulerResultCreate) -> SchedulerResult:
    start = task.arrival_time + result.waiting_time
    return SchedulerResult(
        task_id=task.task_id,
        **result.model_dump(),
        status=0,
        start_time=start,
        finish_time=start + result.actual_time,
        turnaround_time=result.waiting_time + result.actual_time,
        measured=True,
    )


def _columns(result: SchedulerResult) -> ResultRows:
    """Make columns of one row of a result."""
    values = result.model_dump(exclude={"scheduler_name", "measured"})
    columns = {name: [value] for name, value in values.items()}
    return ResultRows(scheduler_name=result.scheduler_name, measured=result.measured, **columns)
