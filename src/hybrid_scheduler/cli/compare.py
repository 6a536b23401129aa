"""`hms compare`: race policies on one workload over several seeds."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output

if TYPE_CHECKING:
    from hybrid_scheduler.studies.compare import Comparison, Result


def compare(
    workload: Annotated[
        list[str] | None,
        typer.Argument(
            help="A preset, 'profile' (the kernels of --profile), a file that hms import can read with those that "
            "belong to it, or cholesky@FOLDER:MACHINE:TILES (lu, qr) with StarPU's times; mixed if absent, with "
            "--profile its kernels."
        ),
    ] = None,
    schedulers: options.Schedulers = "",
    tasks: options.Tasks = None,
    seeds: options.Seeds = "10",
    load: options.Load = None,
    rate: options.Rate = None,
    mode: Annotated[
        str, typer.Option("--mode", help="queued (tasks wait) or isolated (devices always free).")
    ] = "queued",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    profile: options.ProfileFile = None,
    noise: options.Noise = "",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the run in this new folder.")] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Write a bar chart with intervals to this PNG.")] = None,
    json: options.Json = False,
) -> None:
    """Race policies on the same tasks and print how far each is from the certified bound."""
    from hybrid_scheduler.files import require_new
    from hybrid_scheduler.studies import compare, results
    from hybrid_scheduler.workloads.source import Source

    name = ",".join(workload or ["profile" if profile else "mixed"])
    source = Source.of(name, tasks, rate, load, profile, noise)
    comparison = compare.Comparison(
        source=source,
        schedulers=options.schedulers_of(schedulers),
        cluster=options.cluster_of(cluster, gpus, profile, source),
        mode=mode,
        seeds=options.seeds_of(seeds),
    )
    if out:
        require_new(out)
    source.tasks(comparison.seeds[0], comparison.cluster)  # bad tasks are refused before any lesson
    output.give_lessons(comparison.schedulers, comparison.cluster, mode, quiet=json)
    with output.progress("racing", quiet=json) as progress:
        result = compare.compare(comparison, progress)
    if out:
        results.save(result, out, ["hms", *sys.argv[1:]])
    if plot:
        from hybrid_scheduler.reports.figures.makespan_over_bound import plot_makespan_over_bound
        from hybrid_scheduler.reports.numbers import describe
        from hybrid_scheduler.reports.style import add_title, save_figure

        ax = plot_makespan_over_bound(result)
        add_title(ax, describe(result))
        save_figure(ax, plot)
    if json:
        typer.echo(results.to_json(results.to_document(result)), nl=False)
    else:
        _print(result, _whose_machines(comparison) if cluster is None and gpus is None else "")
        for path in filter(None, (plot, out)):
            typer.echo(f"wrote {path}")


def _whose_machines(comparison: Comparison) -> str:
    """Say where the machines come from, if they came with the tasks."""
    if beside := comparison.source.machines_beside():
        return f"machines: those of {beside.name} beside the tasks (--cluster or --gpus takes others)"
    brought = comparison.source.is_file and comparison.cluster == comparison.source.cluster()
    return "machines: those that the tasks bring along" if brought else ""


def _print(result: Result, machines: str) -> None:
    from rich.markup import escape

    console = output.console()
    comparison, first = result.comparison, result.outcomes[0]
    isolated = comparison.mode == "isolated"
    score = "execution_over_best" if isolated else "makespan_over_bound"
    bound = sum(outcome.bound.makespan for outcome in result.outcomes) / len(result.outcomes)
    seeds = f"{len(comparison.seeds)} seed{'s' if len(comparison.seeds) > 1 else ''}"
    console.print(
        f"[bold]{escape(comparison.source.title)}[/bold]: {first.workload['num_tasks']:,} tasks, "
        f"{_pace(result)}, {comparison.cluster.describe()}, {comparison.mode}, {seeds}, simulated",
        soft_wrap=True,
    )
    if machines:
        console.print(machines, markup=False, highlight=False, soft_wrap=True)
    if comparison.source.profile:
        console.print(_origin(comparison.source.profile), markup=False)
    if composed := comparison.source.composition():
        from hybrid_scheduler.workloads import composition

        for line in composition.lines(composed):
            console.print(line, markup=False, soft_wrap=True)
    if comparison.source.noise:
        console.print(comparison.source.noise_model().describe(), markup=False)
    if isolated:
        console.print("every device is always free; 1.000 is the closed-form optimum of each task\n")
    else:
        prices = ", ".join(f"{name} {price:.3g}" for name, price in first.bound.prices.items() if price)
        proof = f"prices {prices}" if prices else "longest chain" if len(first.bound.path) > 1 else "one long task"
        console.print(f"certified bound {output.quantity(bound, 's')}: nobody can be faster ({proof})\n")
    table = output.table(
        "scheduler", "time / best" if isolated else "makespan / bound", "turnaround", "p99", "energy", "cost"
    )
    for spec in result.ranking(score):
        each = result.interval(spec, score)
        spread = f" [{each.low:.3f}, {each.high:.3f}]" if len(result.outcomes) > 1 else ""
        table.add_row(
            _shortened(spec),
            f"{each.mean:.3f}{spread}",
            output.quantity(result.interval(spec, "mean_turnaround").mean, "s"),
            output.quantity(result.interval(spec, "p99_turnaround").mean, "s"),
            output.quantity(result.interval(spec, "energy").mean, "J"),
            output.quantity(result.interval(spec, "cost").mean, "$"),
        )
    console.print(table)
    for line in _verdict(result, score):
        console.print(line)


def _origin(path: str) -> str:
    """Say which times of a simulated machine were measured."""
    from hybrid_scheduler.profiling.profile_file import load_profile

    found = load_profile(path)
    return f"machine of {Path(path).name}: CPU {found.cpu.source}; GPU {found.gpu.source}"


def _pace(result: Result) -> str:
    source, workload = result.comparison.source, result.outcomes[0].workload
    if source.load is not None:
        return f"load {source.load:g}"
    rate = workload["arrival_rate"]
    return "all at once" if rate == float("inf") else f"{rate:.3g} tasks/s"


def _shortened(spec: str) -> str:
    name = Path(spec).name if ".py" in spec else spec
    widest = 14 if output.console().width <= 80 else 30
    return name if len(name) <= widest else name[: widest - 1] + "…"


def _verdict(result: Result, score: str) -> list[str]:
    """Say in words who wins, by how much over the next one, and what was lost on the way."""
    ranking = result.ranking(score)
    if len(ranking) < 2:
        return []
    lines = [_lead(result, score, ranking)]
    rejected = {spec: result.interval(spec, "rejected").mean for spec in ranking}
    if max(rejected.values()) > 0:
        lines.append(f"{max(rejected.values()):g} tasks a seed fit no device and were rejected")
    spilled = {spec: result.interval(spec, "spilled").mean for spec in ranking}
    worst = max(spilled, key=lambda spec: spilled[spec])
    if spilled[worst] > 0:
        lines.append(
            f"tasks that did not fit where they were sent: up to {spilled[worst]:g} a seed ({_shortened(worst)})"
        )
    return lines


def _lead(result: Result, score: str, ranking: list[str]) -> str:
    best, second = ranking[0], ranking[1]
    seeds = len(result.outcomes)
    first = result.values(best, score)
    tied = [spec for spec in ranking if _is_same(first, result.values(spec, score))]
    if len(tied) > 1:
        names = [_shortened(spec) for spec in tied]
        where = f"on each of {seeds} seeds" if seeds > 1 else "on this seed"
        return f"{', '.join(names[:-1])} and {names[-1]} tie {where}"
    names = [_shortened(best), _shortened(second)]
    base = result.interval(second, score).mean
    gap = result.difference(best, second, score)
    if seeds == 1:
        return f"{names[0]} leads {names[1]} by {_share(-gap.mean / base)} (one seed: no interval)"
    if not gap.excludes_zero():
        return f"{names[0]} and {names[1]} cannot be told apart on {seeds} seeds"
    wins = sum(ours < theirs for ours, theirs in zip(first, result.values(second, score), strict=True))
    return (
        f"{names[0]} leads {names[1]} by {_share(-gap.mean / base)} "
        f"(95 % interval {_share(-gap.high / base)} to {_share(-gap.low / base)}), better on {wins} of {seeds} seeds"
    )


def _is_same(left: Sequence[float], right: Sequence[float]) -> bool:
    """Whether two policies did as well on every seed, but for the last digits of their sums."""
    return all(math.isclose(one, other, rel_tol=1e-9) for one, other in zip(left, right, strict=True))


def _share(part: float) -> str:
    """Write a part in per cent, a small one with its first digit."""
    return f"{part:.1%}" if abs(part) >= 0.0005 else f"{100 * part:.1g}%"
