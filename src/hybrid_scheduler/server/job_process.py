"""The process of one experiment: takes a comparison as a line of JSON, tells how far it is, and what came out.

A process of its own, and a patient one, so that the live race beside it keeps the interpreter lock and its pace.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any, TextIO

import orjson

from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.studies.compare import Comparison, Outcome, Result, compare

PATIENCE = 10  # steps of niceness; HMS_EXPERIMENT_NICE says otherwise


def main() -> int:
    """Run the comparison that comes on standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a policy prints must not stand between the answers
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(int(os.environ.get("HMS_EXPERIMENT_NICE", PATIENCE)))
    return run(asked, answers)


def run(asked: dict[str, Any], answers: TextIO) -> int:
    """Run a comparison and write lines of JSON: `done` seeds, then `summary` or `error`; returns the exit code."""

    def say(**words: Any) -> None:
        answers.write(orjson.dumps(words, option=orjson.OPT_SERIALIZE_NUMPY).decode() + "\n")
        answers.flush()

    try:
        comparison = Comparison.from_dict(asked)
        result = compare(comparison, lambda done, _: say(done=done))
        say(summary=summary_of(result))
    except SchedulerError as error:
        say(error=" ".join(str(error).split()))
        return 1
    except Exception as error:  # noqa: BLE001  # whatever a policy does, the experiment must say so
        say(error=f"{type(error).__name__}: {' '.join(str(error).split())}")
        return 1
    return 0


def _end_with_parent() -> None:
    """End when the server does: its end of the pipe is closed then, however it died."""
    sys.stdin.read()
    os._exit(1)


def summary_of(result: Result) -> dict[str, Any]:
    """Return what is stored of a comparison: every measure of every seed, from which all else can be computed."""
    best = result.ranking("mean_turnaround")[0]
    seeds = [_seed(outcome) for outcome in result.outcomes]
    return {
        "tasks": sum(each["tasks"] for each in seeds),
        "workload": result.outcomes[0].workload,
        "headline": {"scheduler": best, "mean_turnaround": result.interval(best, "mean_turnaround").mean},
        "seeds": seeds,
    }


def _seed(outcome: Outcome) -> dict[str, Any]:
    return {
        "seed": outcome.seed,
        "tasks": int(outcome.workload["num_tasks"]),
        "digest": outcome.workload["digest"],
        "bound": outcome.bound.makespan,
        "measures": outcome.measures,
        "decision_seconds": outcome.decision_seconds,
    }


if __name__ == "__main__":
    sys.exit(main())
