"""`hms jobs`: wide jobs and pods on a shared cluster."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler import registry
from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from hybrid_scheduler.studies.jobs import JobResult, JobStudy, PackingResult

DEFAULT_FILL_SEEDS = "10"


def jobs(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="A preset (cluster_batch, cluster_pods, training_jobs), a log of a parallel machine (SWF), pods and "
            "their nodes (Alibaba), GPU jobs (Philly), or our own table of jobs; cluster_batch if absent."
        ),
    ] = None,
    orders: Annotated[
        str,
        typer.Option("--orders", "-s", help="Orders of the queue, comma-separated: fcfs, f1+easy …, or all."),
    ] = "fcfs,sjf,f1",
    backfill: Annotated[
        str, typer.Option("--backfill", help="Who may pass the head: none, easy, conservative; comma-separated.")
    ] = "none,easy",
    fit: Annotated[
        str, typer.Option("--fit", help="How nodes are chosen: best, fgd, random …, comma-separated, or all.")
    ] = "",
    nodes: Annotated[Path | None, typer.Option("--nodes", help="A list of nodes (sn, cpu_milli, …).")] = None,
    processors: Annotated[
        int | None, typer.Option("--processors", help="A pool of so many processors instead of the file's machines.")
    ] = None,
    gpus: Annotated[int | None, typer.Option("--gpus", help="A pool of so many GPUs instead of the file's.")] = None,
    windows: Annotated[int, typer.Option("--windows", help="How many windows, which begin at random jobs.")] = 1,
    window_jobs: Annotated[
        int | None, typer.Option("--window-jobs", "-n", help="Jobs in a window, or of a preset; all if absent.")
    ] = None,
    fill: Annotated[
        float | None,
        typer.Option("--fill", help="Fill the nodes with pods that never leave and ask for so many times all GPUs."),
    ] = None,
    seeds: Annotated[
        str, typer.Option("--seeds", help="Seeds of presets and of --fill (10, 42..51); else where windows begin.")
    ] = "",
    threshold: Annotated[
        float, typer.Option("--threshold", help="Seconds as which shorter jobs count in the bounded slowdown.")
    ] = 10.0,
    overtake: Annotated[
        bool, typer.Option("--overtake", help="Let jobs that come later take the place of a head that waits.")
    ] = False,
    spot: Annotated[
        float | None, typer.Option("--spot", help="This share of the nodes leaves now and then, and comes back.")
    ] = None,
    stay: Annotated[float, typer.Option("--stay", help="Mean seconds until a spot node leaves.")] = 14_400.0,
    away: Annotated[float, typer.Option("--away", help="Mean seconds until it is back.")] = 1_800.0,
    notice: Annotated[float, typer.Option("--notice", help="Seconds that it takes no more jobs before.")] = 120.0,
    form: Annotated[str, typer.Option("--format", help="The format of the files, if it is not recognised.")] = "",
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write every measure of every window to this file.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw use, queue, slowdown by width and user of the first window."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep the run in this folder, for hms repeat, report and plot.")
    ] = None,
    list_policies: Annotated[bool, typer.Option("--list", help="List orders and fit rules, and stop.")] = False,
    json: options.Json = False,
) -> None:
    """Run wide jobs on a shared cluster: orders with backfilling, or fit rules that fill nodes with pods."""
    if list_policies:
        _list_policies(json)
        return
    from hybrid_scheduler.core.spot import Spot
    from hybrid_scheduler.files import require_new
    from hybrid_scheduler.studies import jobs as studies
    from hybrid_scheduler.workloads.job_presets import JOB_PRESETS

    sources = [*(files or ["cluster_batch"]), *([str(nodes)] if nodes else [])]
    preset = sources[0] in JOB_PRESETS
    study = studies.JobStudy.read(
        sources,
        form,
        (processors, gpus),
        orders=_parse(orders, registry.job_orders, ()),
        backfilling=tuple(part.strip() for part in backfill.split(",") if part.strip()),
        fits=_parse(fit, registry.fits, ("best",)),
        windows=windows,
        window_jobs=window_jobs,
        seeds=options.parse_seeds(seeds or (DEFAULT_FILL_SEEDS if fill or preset else "1")),
        threshold=threshold,
        keep_head=not overtake,
        spot=None if spot is None else Spot(spot, stay, away, notice),
    )
    if out:
        require_new(out)
    result: JobResult | PackingResult
    if fill is not None:
        if plot or spot:
            raise InputError("--plot and --spot are for queues, and with --fill nobody waits: leave them out")
        if study.jobs is None or study.machines is None:
            raise InputError(f"--fill needs a list of pods and one of nodes, got {study.name}: give both files")
        fits = _parse(fit, registry.fits, tuple(registry.fits.featured))
        with output.progress("filling", quiet=json) as progress:
            result = studies.fill_machines(study.name, study.jobs, study.machines, fits, fill, study.seeds, progress)
        if out:
            studies.save_filling(result, replace(study, fits=fits), out, output.command_line())
    else:
        with output.progress("running", quiet=json) as progress:
            result = studies.run_jobs(study, progress)
        if out:
            studies.save_jobs(result, out, output.command_line())
        if plot:
            _plot(study, plot)
    _print(result, csv, json)
    for path in (plot, out):
        if path and not json:
            typer.echo(f"wrote {path}")


def _plot(study: JobStudy, path: Path) -> None:
    from hybrid_scheduler.reports.figures.jobs import plot_jobs
    from hybrid_scheduler.reports.style import add_title, save_figure

    window = study.first_window()
    ax = plot_jobs(window)
    add_title(ax, window.title)
    save_figure(ax, path)


def _print(result: JobResult | PackingResult, csv: Path | None, json: bool) -> None:
    from hybrid_scheduler.files import atomic_write
    from hybrid_scheduler.studies.jobs import JobResult

    if csv:
        with atomic_write(csv) as scratch:
            scratch.write_text(result.to_csv(), encoding="utf-8")
    if json:
        output.print_json(result.to_document())
        return
    output.print_lines((*result.describe(), "", *result.table()))
    if isinstance(result, JobResult):
        output.print_lines(("", *textwrap.wrap(result.verdict(), 80)))
    if csv:
        typer.echo(f"wrote {csv}")


def _parse(text: str, table: registry.Registry, default: tuple[str, ...]) -> tuple[str, ...]:
    if text == "all":
        return tuple(table.table)
    return tuple(part.strip() for part in text.split(",") if part.strip()) or default


def _list_policies(json: bool) -> None:
    tables = {"orders": registry.job_orders, "fits": registry.fits}
    if json:
        output.print_json({key: {each.name: each.summary for each in table} for key, table in tables.items()})
        return
    for title, table in (("order", registry.job_orders), ("fit rule", registry.fits)):
        printed = output.table(title, "goes by")
        printed.columns[1].justify = "left"
        for each in table:
            printed.add_row(each.name, each.summary)
        output.console().print(printed)
