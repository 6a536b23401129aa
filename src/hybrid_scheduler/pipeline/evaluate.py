"""Phase 5: everybody on the same new tasks, over several seeds, with figures and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hybrid_scheduler.files import new_directory
from hybrid_scheduler.pipeline.config import OFFLINE, Options
from hybrid_scheduler.pipeline.phases import (
    AGENT,
    COMMON,
    COMPARISON,
    FOREST,
    PROFILE,
    RESULTS,
    Found,
    Phase,
    Step,
    Work,
    source_of,
)
from hybrid_scheduler.studies import experiments, results
from hybrid_scheduler.studies.compare import Comparison, Result, compare

FIGURES, REPORT, SHIFT = f"{RESULTS}/figures", f"{RESULTS}/report", f"{RESULTS}/shift"
FACTS = (
    "makespan_over_bound",
    "execution_over_best",
    "makespan",
    "total_time",
    "mean_turnaround",
    "load_balance",
    "energy",
    "cost",
)


def evaluate(work: Work) -> Found:
    """Race, then draw and write what was asked for."""
    asked = work.options.evaluation
    parts = Parts(work.step, asked.seeds + asked.shift_seeds + 2)
    comparison = comparison_of(work)
    result = compare(comparison, parts.next(asked.seeds))
    kept = results.save(result, work.target(COMPARISON), command_of(work, comparison))
    facts = {"seeds": len(comparison.seeds), "schedulers": _figures(result), "lead": _lead(result)}
    if asked.shift_seeds:
        facts["shift"] = _shift(work, parts.next(asked.shift_seeds))
    _illustrate(work, kept, parts)
    return Found(facts, {"decision_seconds": _latencies(result)})


class Parts:
    """Makes one progress of several, each with its own number of steps."""

    def __init__(self, step: Step, total: int) -> None:
        self._step, self._total, self._before = step, total, 0

    def next(self, share: int) -> Step:
        """Return the progress of the next part, which is so much of the whole."""
        before = self._before
        self._before += share
        return lambda done, total: self._step(before + share * done // max(1, total), self._total)


def comparison_of(work: Work) -> Comparison:
    """Return the comparison with the models of the phases before in their places."""
    options = work.options
    return Comparison(
        source=source_of(work, options.evaluation.num_tasks),
        schedulers=tuple(_spec(name, work) for name in options.evaluation.schedulers),
        cluster=work.cluster,
        mode=options.mode,
        seeds=tuple(range(options.seed, options.seed + options.evaluation.seeds)),
    )


def _spec(name: str, work: Work) -> str:
    """Give a learner that was named without options what the phases before have taught."""
    models = {
        OFFLINE: f"hybrid_ml:online=false:model={work.source(FOREST)}",
        "hybrid_ml": f"hybrid_ml:model={work.source(FOREST)}",
        "rl_agent": f"rl_agent:model={work.source(AGENT)}" if work.options.scheduling.agent_tasks else "rl_agent",
    }
    weight = work.options.scheduling.energy_weight
    weighed = "" if weight == Options().scheduling.energy_weight else f":energy_weight={weight:g}"
    return f"{models[name]}{weighed}" if name in models else name


def plain_name(spec: str) -> str:
    """Return the name that the options have for a spec."""
    name = spec.partition(":")[0]
    if name not in ("hybrid_ml", "rl_agent") or ":model=" not in spec:
        return spec
    return OFFLINE if ":online=false" in spec else name


def command_of(work: Work, comparison: Comparison) -> list[str]:
    """Return the command that makes the same comparison from the same models."""
    source = comparison.source
    words = ["hms", "compare", source.name, "--tasks", str(source.num_tasks), "--load", f"{source.load:g}"]
    words += ["--mode", comparison.mode, "--seeds", ",".join(map(str, comparison.seeds)) + ","]
    if work.options.gpus is not None:
        words += ["--gpus", str(work.options.gpus)]
    if source.profile:
        words += ["--profile", str(work.source(PROFILE))]
    return [*words, "-s", ",".join(comparison.schedulers)]


def _figures(result: Result) -> dict[str, dict[str, Any]]:
    """Return means and intervals of the main measures, best scheduler first."""
    ranking = result.ranking(result.score)
    return {plain_name(spec): {name: _interval(result, spec, name) for name in FACTS} for spec in ranking}


def _lead(result: Result) -> list[float]:
    """Return how far the best is ahead of the next, paired by seed; empty if there is nobody else."""
    best, *others = result.ranking(result.score)
    if not others:
        return []
    each = result.difference(best, others[0], result.score)
    return [each.mean, each.low, each.high]


def _interval(result: Result, spec: str, name: str) -> list[float]:
    each = result.interval(spec, name)
    return [each.mean, each.low, each.high]


def _latencies(result: Result) -> dict[str, float]:
    outcomes = result.outcomes
    return {
        plain_name(spec): sorted(each.decision_seconds[spec] for each in outcomes)[len(outcomes) // 2]
        for spec in result.comparison.schedulers
    }


def _shift(work: Work, step: Step) -> dict[str, float]:
    """Run the distribution shift; return how many times as long as the optimum each policy took."""
    seeds = range(work.options.seed, work.options.seed + work.options.evaluation.shift_seeds)
    study = experiments.run("shift", seeds, work.cluster, step)
    with new_directory(work.target(SHIFT)) as folder:
        command = ["hms", "experiment", "shift", "--out", "RUN", "--seeds", ",".join(map(str, seeds)) + ","]
        results.write(study, folder, work.cluster, seeds, command)
    return {name: next(iter(study.points(name, "over_optimum").values())).mean for name in study.series}


def _illustrate(work: Work, kept: Path, parts: Parts) -> None:
    from hybrid_scheduler.reports import gallery, reporting  # matplotlib only where something is drawn

    asked = work.options.evaluation
    if asked.figures:
        gallery.plot(kept, "all", work.target(FIGURES), "png", parts.next(1))
    if asked.report != "none":
        reporting.report(kept, work.target(REPORT), asked.report, parts.next(1))


def _policy_files(options: Options) -> tuple[str, ...]:
    names = (spec.partition(":")[0] for spec in options.evaluation.schedulers)
    return tuple(dict.fromkeys(name for name in names if name.endswith(".py")))


EVALUATING = Phase(
    "evaluation",
    "evaluation",
    (*COMMON, "workload.preset", "workload.load", "scheduling.energy_weight", "evaluation"),
    (COMPARISON, SHIFT, FIGURES, f"{REPORT}.html", f"{REPORT}.pdf"),
    evaluate,
    reads=(FOREST, AGENT),
    brought=_policy_files,
)
