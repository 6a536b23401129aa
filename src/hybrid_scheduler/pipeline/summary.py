"""What the pipeline prints: a line per phase, the table of the evaluation and its verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hybrid_scheduler.core.formatting import format_count, format_interval
from hybrid_scheduler.pipeline.config import OFFLINE
from hybrid_scheduler.pipeline.evaluate import short_name
from hybrid_scheduler.pipeline.phases import TEST_TRACE, TRAINING_TRACE
from hybrid_scheduler.pipeline.workspace import Record
from hybrid_scheduler.profiling.profile import MEASURED
from hybrid_scheduler.studies.compare import Result

BASELINES = ("round_robin", "greedy")


def describe_phase(record: Record) -> str:
    """Return what a phase found in a few words."""
    return _DESCRIPTIONS[record.phase](record.facts, record.measured)


def _describe_profile(_facts: dict[str, Any], measured: dict[str, Any]) -> str:
    gpu = measured["gpu"] if measured["gpu_source"] == MEASURED else f"no GPU ({measured['gpu_source']})"
    return f"{measured['points']} times measured on {measured['cores']} cores; {gpu}"


def _describe_workloads(facts: dict[str, Any], _measured: dict[str, Any]) -> str:
    training, test = facts[TRAINING_TRACE]["num_tasks"], facts[TEST_TRACE]["num_tasks"]
    return f"{training:,} tasks to train on, {test:,} to schedule"


def _describe_training(facts: dict[str, Any], _measured: dict[str, Any]) -> str:
    importances = facts["feature_importances"]
    first = max(importances, key=lambda name: importances[name])
    return f"R² {facts['test_r2']:.3f}, error {facts['mae']:.3f} on unseen tasks; {first} matters most"


def _describe_schedule(facts: dict[str, Any], _measured: dict[str, Any]) -> str:
    agent = f"; agent pretrained on {facts['agent_tasks']:,}" if facts["agent_tasks"] else ""
    return f"{facts['tasks']:,} tasks, {facts['mean_gpu_fraction']:.0%} to GPUs{agent}"


def _describe_evaluation(facts: dict[str, Any], _measured: dict[str, Any]) -> str:
    return f"{len(facts['schedulers'])} policies on {format_count(facts['seeds'], 'seed')}"


_DESCRIPTIONS: dict[str, Callable[[dict[str, Any], dict[str, Any]], str]] = {
    "profiling": _describe_profile,
    "workload": _describe_workloads,
    "training": _describe_training,
    "scheduling": _describe_schedule,
    "evaluation": _describe_evaluation,
}


def list_rows(result: Result) -> list[tuple[str, ...]]:
    """Return the rows of the final table: policy, score, speed-up over either baseline, balance of the GPUs."""
    baselines = [name if name in result.comparison.schedulers else "" for name in BASELINES]
    return [
        (
            short_name(spec),
            format_interval(result.interval(spec, result.score), "×"),
            *(f"{result.speedup(spec, name).mean:.2f}×" if name else "–" for name in baselines),
            f"{result.interval(spec, 'load_balance').mean:.2f}",
        )
        for spec in result.ranking(result.score)
    ]


def list_conclusions(result: Result, shift: dict[str, float] | None) -> list[str]:
    """Return the verdict, and how a shift of the workload hurts a model that is never retrained."""
    names = [short_name(spec) for spec in result.comparison.schedulers]
    lines = [result.verdict.describe(short_name)]
    if shift:
        lines.append(
            f"after the shift to tasks that suit CPUs: a forest that is not retrained takes "
            f"{shift['static forest']:.1f}× the optimum, hybrid_ml {shift['hybrid_ml']:.1f}×, "
            f"rl_agent {shift['rl_agent']:.1f}×"
        )
    if OFFLINE in names and "hybrid_ml" in names:
        lines.append(f"{OFFLINE} is the model of phase 3; hybrid_ml starts from it and learns on")
    return lines
