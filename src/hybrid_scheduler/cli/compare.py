"""`hms compare`: run policies on one workload over several seeds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output

if TYPE_CHECKING:
    from hybrid_scheduler.studies.compare import Comparison


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
    seeds: options.Seeds = "5",
    load: options.Load = None,
    rate: options.Rate = None,
    mode: Annotated[
        str, typer.Option("--mode", help="queued (tasks wait) or isolated (devices always free).")
    ] = "queued",
    score: Annotated[
        str,
        typer.Option(
            "--score", help="makespan or turnaround, each over its bound: what ranking, verdict and plot go by."
        ),
    ] = "makespan",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    profile: options.ProfileFile = None,
    noise: options.Noise = "",
    assume: options.Assume = "",
    serialise: options.Serialise = False,
    slowdown_threshold: Annotated[
        float | None,
        typer.Option(
            "--slowdown-threshold",
            help="Seconds that bounded slowdown takes an execution for at least; 0.01 if absent, 10 for SWF logs.",
        ),
    ] = None,
    backlog: Annotated[
        str,
        typer.Option(
            "--backlog", help="What policies that do not know the times see of the queues: exact, or estimated."
        ),
    ] = "estimated",
    teach: Annotated[
        list[str] | None,
        typer.Option("--teach", help="Another workload, on which learners are taught first; may be given again."),
    ] = None,
    out: options.Out = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Write a bar chart of the score with intervals to this PNG.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare policies on the same tasks and print how far each is from the certified bound."""
    from hybrid_scheduler.core.compiler import core_count
    from hybrid_scheduler.files import require_new
    from hybrid_scheduler.studies import compare, results
    from hybrid_scheduler.workloads.source import Source, describe_assumptions

    name = ",".join(workload or ["profile" if profile else options.choose_workload("")])
    load = options.choose_load(name, load, rate)
    source = Source.of(name, tasks, rate, load, profile, noise, assume, serialise)
    comparison = compare.Comparison(
        source=source,
        schedulers=options.parse_schedulers(schedulers),
        cluster=options.build_cluster(cluster, gpus, profile, source),
        mode=mode,
        seeds=options.parse_seeds(seeds),
        score=score,
        slowdown_floor=source.slowdown_floor if slowdown_threshold is None else slowdown_threshold,
        backlog=backlog,
        lessons=tuple(Source.of(each, tasks, rate, load, profile, noise, assume, serialise) for each in teach or ()),
    )
    if out:
        require_new(out)
    # Bad files are refused before any training; a preset is not drawn here, since that takes a compiler.
    read = [source.tasks(comparison.seeds[0], comparison.cluster)] if source.is_file or source.profile else []
    if not comparison.lessons:
        output.pretrain_missing(comparison.schedulers, comparison.cluster, mode, quiet=json)
    with output.progress("comparing", quiet=json) as progress:
        result = compare.compare(comparison, progress, processes=core_count())
    if out:
        results.save_result(result, out, output.command_line())
    if plot:
        from hybrid_scheduler.reports.figures.bars import plot_score
        from hybrid_scheduler.reports.style import add_title, save_figure

        ax = plot_score(result)
        add_title(ax, result.describe())
        save_figure(ax, plot)
    if json:
        output.print_json(results.to_document(result))
        return
    sources, width = _describe_sources(comparison, cluster is not None or gpus is not None), output.console().width
    notes = [note for tasks in read for note in describe_assumptions(tasks, comparison.cluster)]
    output.print_lines((result.describe(), *sources, *notes, result.describe_bound(), ""))
    output.print_lines((*result.table(width), "", *result.remarks(width)))
    for path in filter(None, (plot, out)):
        typer.echo(f"wrote {path}")


def _describe_sources(comparison: Comparison, given_machines: bool) -> Iterator[str]:
    """Yield where machines, measured times, composed columns and noise come from."""
    source = comparison.source
    if comparison.lessons:
        yield f"learners were taught first on {', '.join(each.name for each in comparison.lessons)}"
    if not given_machines and (beside := source.find_cluster_file()):
        yield f"machines: those of {beside.name} beside the tasks (--cluster or --gpus takes others)"
    elif not given_machines and source.is_file and comparison.cluster == source.cluster():
        yield "machines: those that come with the tasks"
    if source.profile:
        from hybrid_scheduler.profiling.profile_file import load_profile

        profile = load_profile(source.profile)
        yield f"machine of {Path(source.profile).name}: CPU {profile.cpu.source}; GPU {profile.gpu.source}"
    if composed := source.composition():
        from hybrid_scheduler.workloads import composition

        yield from composition.format_lines(composed)
    if source.noise:
        yield source.load_noise().describe()
