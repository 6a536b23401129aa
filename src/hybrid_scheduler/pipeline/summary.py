"""What came of a pipeline, in a few words for each phase."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hybrid_scheduler.pipeline.config import OFFLINE
from hybrid_scheduler.pipeline.phases import TEST_TRACE, TRAINING_TRACE
from hybrid_scheduler.pipeline.workspace import Record
from hybrid_scheduler.profiling.profile import MEASURED

BASELINE, RIVAL = "round_robin", "greedy"


def in_words(record: Record) -> str:
    """Say what a phase found."""
    return _WORDS[record.phase](record.facts, record.measured)


def _profiling(_facts: dict[str, Any], measured: dict[str, Any]) -> str:
    gpu = measured["gpu"] if measured["gpu_source"] == MEASURED else f"no GPU ({measured['gpu_source']})"
    return f"{measured['points']} times measured on {measured['cores']} cores; {gpu}"


def _workload(facts: dict[str, Any], _measured: dict[str, Any]) -> str:
    learnt, test = facts[TRAINING_TRACE]["num_tasks"], facts[TEST_TRACE]["num_tasks"]
    return f"{learnt:,} tasks to learn from, {test:,} to schedule"


def _training(facts: dict[str, Any], _measured: dict[str, Any]) -> str:
    most = max(facts["feature_importances"], key=lambda name: facts["feature_importances"][name])
    return f"R² {facts['test_r2']:.3f}, error {facts['mae']:.3f} on unseen tasks; looks at {most} most"


def _scheduling(facts: dict[str, Any], _measured: dict[str, Any]) -> str:
    agent = f"; agent pretrained on {facts['agent_tasks']:,}" if facts["agent_tasks"] else ""
    return f"{facts['tasks']:,} tasks, {facts['mean_gpu_fraction']:.0%} to GPUs{agent}"


def _evaluation(facts: dict[str, Any], _measured: dict[str, Any]) -> str:
    seeds = facts["seeds"]
    return f"{len(facts['schedulers'])} policies on {seeds} seed{'s' if seeds > 1 else ''}"


_WORDS: dict[str, Callable[[dict[str, Any], dict[str, Any]], str]] = {
    "profiling": _profiling,
    "workload": _workload,
    "training": _training,
    "scheduling": _scheduling,
    "evaluation": _evaluation,
}


def ranking(record: Record, mode: str) -> list[tuple[str, ...]]:
    """Return the rows of the final table: name, score, times as fast as either baseline, balance of the GPUs."""
    isolated = mode == "isolated"
    score, time = ("execution_over_best", "total_time") if isolated else ("makespan_over_bound", "makespan")
    figures: dict[str, dict[str, list[float]]] = record.facts["schedulers"]
    rows = []
    for name, each in figures.items():
        mean, low, high = each[score]
        times = [_times(figures, other, each, time) for other in (BASELINE, RIVAL)]
        rows.append((name, f"{mean:.3f} [{low:.3f}, {high:.3f}]", *times, f"{each['load_balance'][0]:.2f}"))
    return rows


def _times(figures: dict[str, dict[str, list[float]]], other: str, each: dict[str, list[float]], time: str) -> str:
    """Say how many times as fast as another policy one was; a dash if that one took no part."""
    return f"{figures[other][time][0] / each[time][0]:.2f}×" if other in figures and each[time][0] else "–"


def _winner(names: list[str], lead: list[float], seeds: int) -> str:
    """Name the winner only if the seeds can tell it from the next."""
    if not lead:
        return f"{names[0]} was alone"
    clear = lead[2] < 0
    if seeds > 1 and not clear:
        return f"{names[0]} and {names[1]} cannot be told apart on {seeds} seeds; {names[-1]} ends last"
    return f"{names[0]} ends first{'' if seeds > 1 else ' (one seed: no interval)'}, {names[-1]} last"


def verdict(record: Record) -> list[str]:
    """Say who won, and what the shift of the workload did to a model that does not learn on."""
    names = list(record.facts["schedulers"])
    lines = [_winner(names, record.facts["lead"], record.facts["seeds"])]
    shift = record.facts.get("shift")
    if shift:
        static, forest, agent = shift["static forest"], shift["hybrid_ml"], shift["rl_agent"]
        lines.append(
            f"after the shift to tasks that suit CPUs: a forest that does not learn on takes {static:.1f}× the "
            f"optimum, hybrid_ml {forest:.1f}×, rl_agent {agent:.1f}×"
        )
    if OFFLINE in names and "hybrid_ml" in names:
        lines.append(f"{OFFLINE} is the model of phase 3; hybrid_ml starts from it and learns on")
    return lines
