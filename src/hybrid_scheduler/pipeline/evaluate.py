"""Phase 5 of the pipeline: compare all policies on new tasks over several seeds, with figures and a report.

The table of the policies and the verdict are what the pipeline prints at its end.
"""

from __future__ import annotations

import math
from dataclasses import astuple
from statistics import median_high

from hybrid_scheduler.core.formatting import format_interval
from hybrid_scheduler.files import new_directory
from hybrid_scheduler.pipeline.config import OFFLINE, Options
from hybrid_scheduler.pipeline.phases import (
    AGENT,
    COMMON,
    COMPARISON,
    FOREST,
    PROFILE,
    RESULTS,
    TEST_TRACE,
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
    "turnaround_over_bound",
    "load_balance",
    "energy",
    "cost",
)


def evaluate(context: PhaseContext) -> PhaseOutput:
    """Compare, then draw and write what the options ask for."""
    options = context.options.evaluation
    whole = options.seeds + options.shift_seeds + 2
    shares = (options.seeds, options.shift_seeds, int(options.figures), 1)  # of the whole, one after another

    def split_off(part: int) -> Progress:
        before, share = sum(shares[:part]), shares[part]
        return lambda done, total: context.progress(before + share * done // max(1, total), whole)

    comparison = build_comparison(context)
    result = compare(comparison, split_off(0))
    folder = results.save_result(result, context.output_path(COMPARISON), build_command(context, comparison))
    ranking = result.ranking(result.score)
    facts = {
        "seeds": len(comparison.seeds),
        "schedulers": {short_name(spec): _list_facts(result, spec) for spec in ranking},
        "lead": list(astuple(result.difference(ranking[0], ranking[1], result.score))) if len(ranking) > 1 else [],
    }
    if options.shift_seeds:
        facts["shift"] = _run_shift(context, split_off(1))
    from hybrid_scheduler.reports import gallery, reporting  # matplotlib only where something is drawn

    if options.figures:
        gallery.plot(folder, "all", context.output_path(FIGURES), "png", split_off(2))
    if options.report != "none":
        kind = "" if options.report == "both" else options.report  # "": as many as this install can write
        reporting.report(folder, context.output_path(REPORT), kind, split_off(3))
    latencies = {
        short_name(spec): median_high(each.decision_seconds[spec] for each in result.outcomes)
        for spec in comparison.schedulers
    }
    return PhaseOutput(facts, {"decision_seconds": latencies})


def _list_facts(result: Result, spec: str) -> dict[str, list[float]]:
    """Return mean and interval of every measure that is defined: isolated tasks have no bound of turnaround."""
    intervals = {name: result.interval(spec, name) for name in FACTS}
    return {name: list(astuple(each)) for name, each in intervals.items() if not math.isnan(each.mean)}


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
    forest, agent = context.root / FOREST, context.root / AGENT
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
    words = ["hms", "compare", source.name]
    if source.load is not None:
        words += ["--tasks", str(source.num_tasks), "--load", f"{source.load:g}"]
    words += ["--mode", comparison.mode, "--seeds", ",".join(map(str, comparison.seeds)) + ","]
    if context.options.gpus is not None:
        words += ["--gpus", str(context.options.gpus)]
    if source.profile:
        words += ["--profile", str(context.root / PROFILE)]
    return [*words, "-s", ",".join(comparison.schedulers)]


def _run_shift(context: PhaseContext, progress: Progress) -> dict[str, float]:
    """Run the distribution shift; return each policy's time over the optimum."""
    seeds = range(context.options.seed, context.options.seed + context.options.evaluation.shift_seeds)
    shift = experiments.run_experiment("shift", seeds, context.cluster, progress)
    with new_directory(context.output_path(SHIFT)) as folder:
        command = ["hms", "experiment", "shift", "--out", "RUN", "--seeds", ",".join(map(str, seeds)) + ","]
        results.save_experiment(shift, folder, context.cluster, seeds, command)
    return {name: next(iter(shift.points(name, "over_optimum").values())).mean for name in shift.series}


def _list_policy_files(options: Options) -> tuple[str, ...]:
    names = (spec.partition(":")[0] for spec in options.evaluation.schedulers)
    return tuple(dict.fromkeys(name for name in names if name.endswith(".py")))


EVALUATE_PHASE = Phase(
    "evaluation",
    "evaluation",
    (*COMMON, "workload.preset", "workload.load", "workload.trace", "scheduling.energy_weight", "evaluation"),
    (COMPARISON, SHIFT, FIGURES, f"{REPORT}.html", f"{REPORT}.pdf"),
    evaluate,
    inputs=(FOREST, AGENT, TEST_TRACE),
    user_files=_list_policy_files,
)


# --- what is printed -----------------------------------------------------------------------------------------


def list_rows(result: Result) -> list[tuple[str, ...]]:
    """Return the rows of the final table: policy, score, speed-up over either baseline, balance of the GPUs."""
    baselines = [name if name in result.comparison.schedulers else "" for name in ("round_robin", "greedy")]
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
        learners = ", ".join(f"{name} {shift[name]:.1f}×" for name in ("hybrid_ml", "rl_agent") if name in shift)
        lines.append(
            f"after the shift to tasks that suit CPUs: a forest that is not retrained takes "
            f"{shift['static forest']:.1f}× the optimum, {learners}"
        )
    if OFFLINE in names and "hybrid_ml" in names:
        lines.append(f"{OFFLINE} is the model of phase 3; hybrid_ml starts from it and learns on")
    return lines
