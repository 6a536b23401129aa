"""Phase 5 of the pipeline: compare all policies on new tasks over several seeds, with figures and a report."""

from __future__ import annotations

from pathlib import Path

from hybrid_scheduler.files import new_directory
from hybrid_scheduler.pipeline.config import OFFLINE, Options
from hybrid_scheduler.pipeline.phases import (
    AGENT,
    COMMON,
    COMPARISON,
    FOREST,
    PROFILE,
    RESULTS,
    Phase,
    PhaseContext,
    PhaseOutput,
    build_source,
)
from hybrid_scheduler.studies import experiments, results
from hybrid_scheduler.studies.compare import Comparison, Progress, Result, compare

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


def evaluate(context: PhaseContext) -> PhaseOutput:
    """Compare, then draw and write what the options ask for."""
    options = context.options.evaluation
    progress = SplitProgress(context.progress, options.seeds + options.shift_seeds + 2)
    comparison = build_comparison(context)
    result = compare(comparison, progress.take(options.seeds))
    folder = results.save_result(result, context.output_path(COMPARISON), build_command(context, comparison))
    ranking = result.ranking(result.score)
    facts = {
        "seeds": len(comparison.seeds),
        "schedulers": {short_name(spec): _list_intervals(result, spec) for spec in ranking},
        "lead": _measure_lead(result, ranking),
    }
    if options.shift_seeds:
        facts["shift"] = _run_shift(context, progress.take(options.shift_seeds))
    _illustrate(context, folder, progress)
    return PhaseOutput(facts, {"decision_seconds": _median_latencies(result)})


class SplitProgress:
    """One progress for several parts, each with its own number of steps."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._before = progress, total, 0

    def take(self, share: int) -> Progress:
        """Return the progress of the next part, which is this share of the total."""
        before = self._before
        self._before += share
        return lambda done, total: self._progress(before + share * done // max(1, total), self._total)


def build_comparison(context: PhaseContext) -> Comparison:
    """Return the comparison, with learners that start from the models of earlier phases."""
    options = context.options
    return Comparison(
        source=build_source(context, options.evaluation.num_tasks),
        schedulers=tuple(_build_spec(name, context) for name in options.evaluation.schedulers),
        cluster=context.cluster,
        mode=options.mode,
        seeds=tuple(range(options.seed, options.seed + options.evaluation.seeds)),
    )


def _build_spec(name: str, context: PhaseContext) -> str:
    """Return the spec of a scheduler; a learner named without options gets the model of an earlier phase."""
    forest, agent = context.input_path(FOREST), context.input_path(AGENT)
    models = {
        OFFLINE: f"hybrid_ml:online=false:model={forest}",
        "hybrid_ml": f"hybrid_ml:model={forest}",
        "rl_agent": f"rl_agent:model={agent}" if context.options.scheduling.agent_tasks else "rl_agent",
    }
    if name not in models:
        return name
    weight = context.options.scheduling.energy_weight
    is_default = weight == Options().scheduling.energy_weight
    return models[name] if is_default else f"{models[name]}:energy_weight={weight:g}"


def short_name(spec: str) -> str:
    """Return the name that the options have for a spec."""
    name = spec.partition(":")[0]
    if name not in ("hybrid_ml", "rl_agent") or ":model=" not in spec:
        return spec
    return OFFLINE if ":online=false" in spec else name


def build_command(context: PhaseContext, comparison: Comparison) -> list[str]:
    """Return the command that makes the same comparison from the same models."""
    source = comparison.source
    words = ["hms", "compare", source.name, "--tasks", str(source.num_tasks), "--load", f"{source.load:g}"]
    words += ["--mode", comparison.mode, "--seeds", ",".join(map(str, comparison.seeds)) + ","]
    if context.options.gpus is not None:
        words += ["--gpus", str(context.options.gpus)]
    if source.profile:
        words += ["--profile", str(context.input_path(PROFILE))]
    return [*words, "-s", ",".join(comparison.schedulers)]


def _list_intervals(result: Result, spec: str) -> dict[str, list[float]]:
    intervals = {name: result.interval(spec, name) for name in FACTS}
    return {name: [each.mean, each.low, each.high] for name, each in intervals.items()}


def _measure_lead(result: Result, ranking: list[str]) -> list[float]:
    """Return the paired difference between the best two with its interval; empty if there is only one."""
    if len(ranking) < 2:
        return []
    each = result.difference(ranking[0], ranking[1], result.score)
    return [each.mean, each.low, each.high]


def _median_latencies(result: Result) -> dict[str, float]:
    outcomes = result.outcomes
    return {
        short_name(spec): sorted(each.decision_seconds[spec] for each in outcomes)[len(outcomes) // 2]
        for spec in result.comparison.schedulers
    }


def _run_shift(context: PhaseContext, progress: Progress) -> dict[str, float]:
    """Run the distribution shift; return each policy's time over the optimum."""
    seeds = range(context.options.seed, context.options.seed + context.options.evaluation.shift_seeds)
    shift = experiments.run_experiment("shift", seeds, context.cluster, progress)
    with new_directory(context.output_path(SHIFT)) as folder:
        command = ["hms", "experiment", "shift", "--out", "RUN", "--seeds", ",".join(map(str, seeds)) + ","]
        results.save_experiment(shift, folder, context.cluster, seeds, command)
    return {name: next(iter(shift.points(name, "over_optimum").values())).mean for name in shift.series}


def _illustrate(context: PhaseContext, folder: Path, progress: SplitProgress) -> None:
    from hybrid_scheduler.reports import gallery, reporting  # matplotlib only where something is drawn

    options = context.options.evaluation
    if options.figures:
        gallery.plot(folder, "all", context.output_path(FIGURES), "png", progress.take(1))
    if options.report != "none":
        reporting.report(folder, context.output_path(REPORT), options.report, progress.take(1))


def _list_policy_files(options: Options) -> tuple[str, ...]:
    names = (spec.partition(":")[0] for spec in options.evaluation.schedulers)
    return tuple(dict.fromkeys(name for name in names if name.endswith(".py")))


EVALUATE_PHASE = Phase(
    "evaluation",
    "evaluation",
    (*COMMON, "workload.preset", "workload.load", "scheduling.energy_weight", "evaluation"),
    (COMPARISON, SHIFT, FIGURES, f"{REPORT}.html", f"{REPORT}.pdf"),
    evaluate,
    inputs=(FOREST, AGENT),
    user_files=_list_policy_files,
)
