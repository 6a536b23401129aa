"""`hms jobs`: wide jobs and pods on a shared cluster."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler import registry
from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from hybrid_scheduler.core.jobs import Jobs
    from hybrid_scheduler.core.machines import Machines
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
        str, typer.Option("--orders", "-s", help="Orders of the queue, comma-separated: fcfs, sjf, f1 …, or all.")
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
    form: Annotated[str, typer.Option("--format", help="The format of the files, if it is not recognised.")] = "",
    csv: Annotated[
        Path | None, typer.Option("--csv", help="Write every measure of every window to this file.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw use, queue, slowdown by width and user of the first window."),
    ] = None,
    list_policies: Annotated[bool, typer.Option("--list", help="List orders and fit rules, and stop.")] = False,
    json: options.Json = False,
) -> None:
    """Run wide jobs on a shared cluster: orders with backfilling, or fit rules that fill nodes with pods."""
    if list_policies:
        _list_policies(json)
        return
    from hybrid_scheduler.studies import jobs as studies

    name, found, machines = _read(files or ["cluster_batch"], nodes, processors, gpus, form)
    numbers = options.parse_seeds(seeds or (DEFAULT_FILL_SEEDS if fill or found is None else "1"))
    result: JobResult | PackingResult
    if fill is not None:
        if plot:
            raise InputError("--plot draws queues, and with --fill nobody waits: leave one of them out")
        if found is None or machines is None:
            raise InputError(f"--fill needs a list of pods and one of nodes, got {name}: give both files")
        fits = _parse(fit, registry.fits, tuple(registry.fits.featured))
        with output.progress("filling", quiet=json) as progress:
            result = studies.fill_machines(name, found, machines, fits, fill, numbers, progress)
    else:
        study = studies.JobStudy(
            name=name,
            jobs=found,
            machines=machines,
            orders=_parse(orders, registry.job_orders, ()),
            backfilling=tuple(part.strip() for part in backfill.split(",") if part.strip()),
            fits=_parse(fit, registry.fits, ("best",)),
            windows=windows,
            window_jobs=window_jobs,
            seeds=numbers,
            threshold=threshold,
            keep_head=not overtake,
        )
        with output.progress("running", quiet=json) as progress:
            result = studies.run_jobs(study, progress)
        if plot:
            _plot(study, plot)
    _print(result, csv, json)
    if plot and not json:
        typer.echo(f"wrote {plot}")


def _plot(study: JobStudy, path: Path) -> None:
    from hybrid_scheduler.reports.figures.jobs import plot_jobs
    from hybrid_scheduler.reports.style import add_title, save_figure
    from hybrid_scheduler.studies.jobs import schedule_window

    case = study.cases()[0]
    ax = plot_jobs(dict(schedule_window(study, case)), study.threshold)
    add_title(ax, f"{study.name}, {case.title}: {len(case.jobs):,} jobs on {case.machines.describe()}, simulated")
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


def _read(
    files: list[str], nodes: Path | None, processors: int | None, gpus: int | None, form: str
) -> tuple[str, Jobs | None, Machines | None]:
    """Return the name, the jobs (none for a preset), and the machines if they are given or the files name them."""
    from hybrid_scheduler.core.machines import NO_LIMIT, WHOLE, Machines
    from hybrid_scheduler.workloads.formats import reader
    from hybrid_scheduler.workloads.job_presets import JOB_PRESETS

    machines = None
    if processors is not None or gpus is not None:
        machines = Machines.pool(NO_LIMIT // WHOLE if processors is None else processors, gpus or 0)
    if files[0] in JOB_PRESETS:
        if len(files) > 1 or nodes:
            raise InputError(f"{files[0]} is a preset and has its own machines: give no file beside it")
        return files[0], None, machines
    if not Path(files[0]).is_file():
        raise InputError(f"{files[0]} is no file and no preset ({', '.join(JOB_PRESETS)}): check the path")
    found = reader.read_jobs([*files, *([str(nodes)] if nodes else [])], form)
    return Path(files[0]).name, found.jobs, machines or found.machines


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
