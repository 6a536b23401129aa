"""The process of one experiment: runs a comparison, sends its progress and its result to the server.

It is separate and has low priority, so that the live race of the server keeps its interpreter lock and its pace.
"""

from __future__ import annotations

from typing import Any

import orjson

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.processes import Channel
from hybrid_scheduler.studies.compare import Comparison, Result, compare

NICENESS = 10  # unless HMS_EXPERIMENT_NICE is set


def run_job(channel: Channel, settings: dict[str, Any]) -> None:
    """Run a comparison and send JSON objects: `done` seeds, then `summary` or `error`."""

    def send(**fields: Any) -> None:
        channel.send([orjson.dumps(fields, option=orjson.OPT_SERIALIZE_NUMPY)])

    try:
        result = compare(Comparison.from_dict(settings), lambda done, _: send(done=done))
        send(summary=summarize_result(result))
    except SchedulerError as error:
        send(error=" ".join(str(error).split()))
    except Exception as error:  # noqa: BLE001  # a policy may raise anything, and the user must see it
        send(error=f"{type(error).__name__}: {' '.join(str(error).split())}")


def summarize_result(result: Result) -> dict[str, Any]:
    """Return what is stored of a comparison: every measure of every seed, from which all else can be computed."""
    best, *tied = result.judge("mean_turnaround").winners
    seeds = [
        {
            "seed": outcome.seed,
            "tasks": int(outcome.workload["num_tasks"]),
            "digest": outcome.workload["digest"],
            "bound": outcome.bound.makespan,
            "measures": outcome.measures,
            "decision_seconds": outcome.decision_seconds,
        }
        for outcome in result.outcomes
    ]
    return {
        "tasks": sum(each["tasks"] for each in seeds),
        "workload": result.outcomes[0].workload,
        "headline": {
            "scheduler": best,
            "mean_turnaround": result.interval(best, "mean_turnaround").mean,
            "tied": tied,
        },
        "seeds": seeds,
    }
