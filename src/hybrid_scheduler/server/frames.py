"""What one `simulation_update` holds, made of a snapshot and the news since the last one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from hybrid_scheduler.engine.snapshot import Analysis, Snapshot, TaskRecord, TaskResult
from hybrid_scheduler.server.feed import News, Span
from hybrid_scheduler.server.rounding import brief, figure, moment

_SNAPSHOT = tuple(each.name for each in fields(Snapshot) if each.name != "latest")
_COMPARED = ("name", "avg_time", "mean_turnaround", "makespan", "makespan_over_bound", "wins", "saturated")


def update(run_id: int | None, snapshot: Snapshot, news: News, analysis: Analysis | None) -> dict[str, Any]:
    """Return the fields of a `simulation_update`."""
    frame = {name: getattr(snapshot, name) for name in _SNAPSHOT}
    latest = snapshot.latest
    frame |= {
        "run_id": run_id,
        "schedulers": brief(snapshot.schedulers),
        "task": _task(latest),
        "comparison": [brief({name: getattr(each, name) for name in _COMPARED}) for each in snapshot.schedulers],
        "latest_results": {name: _result(each) for name, each in latest.results.items()} if latest else {},
        "records": list(news.records),
        "records_total": news.records_total,
        "spans": [_compact(span) for span in news.spans],
        "spans_total": news.spans_total,
        "marks": news.marks,
        "analysis": brief(analysis),
    }
    return frame


def _result(result: TaskResult) -> dict[str, Any]:
    """Write a result as short as can be; its moments keep their decimals however long a run has been going on."""
    short: dict[str, Any] = brief(result)
    return {**short, "start": moment(result.start), "finish": moment(result.finish)}


def _task(latest: TaskRecord | None) -> dict[str, Any] | None:
    if latest is None:
        return None
    return {
        "id": latest.task_id,
        "size": figure(latest.size),
        "intensity": figure(latest.compute_intensity),
        "memory": figure(latest.memory_required),
        "arrival_time": moment(latest.arrival_time),
    }


def _compact(span: Span) -> tuple[str, int, float, float, int, int]:
    """Write a span as short as it can be: there are many of them."""
    return span.scheduler, span.device, moment(span.start), moment(span.end), span.task_id, span.attempt
