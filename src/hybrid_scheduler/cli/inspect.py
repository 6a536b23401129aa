"""`hms inspect`: statistics and histograms of a file of tasks."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from hybrid_scheduler.core import Cluster, Tasks
    from hybrid_scheduler.workloads.formats.reader import ImportedJobs
    from hybrid_scheduler.workloads.statistics import Distribution, Shape

BARS = "▁▂▃▄▅▆▇█"
WIDTH, JOB_WIDTH = 24, 12  # of a picture; figures of jobs are long
LONG = ((86_400.0, "days"), (3600.0, "h"))


def inspect(
    files: options.Files,
    form: options.FormatName = "",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    png: Annotated[Path | None, typer.Option("--png", help="Write the figure to this file (PNG, SVG, PDF).")] = None,
    jobs: Annotated[
        bool, typer.Option("--jobs", help="Show a log as wide jobs; tables and presets of jobs always are.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Show what a file holds: rows, tasks, arrivals, times, memory, and the load on a cluster."""
    if jobs or _holds_jobs(files[0]):
        if png or cluster or gpus:
            raise InputError("--png, --cluster and --gpus are for tasks of one device: hms jobs --plot draws jobs")
        _inspect_jobs(files, form, json)
        return
    from hybrid_scheduler.workloads.conversion import find_cluster_file
    from hybrid_scheduler.workloads.formats import reader
    from hybrid_scheduler.workloads.statistics import best_times, compute_shape, distribution

    if not files[0].exists() and not files[0].suffix and len(files[0].parts) == 1:
        from hybrid_scheduler.workloads.job_presets import JOB_PRESETS

        known = ", ".join(JOB_PRESETS)
        raise InputError(f"{files[0]} is no file and no preset of jobs ({known}): check the path or the name")
    used = reader.choose_format(files, form)
    found = reader.read_all(files, used.name)
    is_free = cluster is None and gpus is None
    beside = find_cluster_file(files[0]) if is_free and found.cluster is None else None
    machine = (found.cluster if is_free else None) or options.build_cluster(cluster or beside, gpus)
    shape, seconds = compute_shape(found.tasks, machine), distribution(best_times(found.tasks, machine))
    if png:
        from hybrid_scheduler.reports.figures.placements import plot_trace_shape
        from hybrid_scheduler.reports.style import add_title, save_figure

        ax = plot_trace_shape(found.tasks, machine)
        add_title(ax, f"{files[0].name}: {len(found.tasks):,} tasks")
        save_figure(ax, png)
    if json:
        document = {"format": used.name, "rows": found.rows, "tasks": len(found.tasks)}
        output.print_json({**document, **asdict(shape), "seconds": asdict(seconds)})
        return
    typer.echo(f"{', '.join(path.name for path in files)}: {used.name} ({used.summary})")
    whose = "of the file" if machine is found.cluster else f"of {beside.name}" if beside else "not of the file"
    for line in [*output.describe_rows(found), *_describe(found.tasks, machine, shape, whose)]:
        typer.echo(line)
    if used.read_jobs and used.name not in ("csv", "parquet"):
        typer.echo(f"as jobs of a shared cluster (hms jobs): {reader.read_jobs(files, used.name).jobs.describe()}")
    _print_histograms(shape, seconds)
    if png:
        typer.echo(f"wrote {png}")


def _holds_jobs(path: Path) -> bool:
    """Whether a preset of wide jobs is meant, or a table of such jobs."""
    from hybrid_scheduler.workloads.formats.job_table import holds_jobs
    from hybrid_scheduler.workloads.job_presets import JOB_PRESETS

    return str(path) in JOB_PRESETS or (path.is_file() and holds_jobs(path))


def _inspect_jobs(files: list[Path], form: str, json: bool) -> None:
    """Show what jobs ask for, when they come, how long they run, and the load on their machines."""
    import numpy as np

    from hybrid_scheduler.workloads.statistics import distribution

    found = _read_jobs(files, form)
    jobs, machines = found.jobs, found.machines
    shapes = {
        name: (
            "s" if name in ("arrival", "seconds", "requested") else "",
            distribution(column[np.isfinite(column)].astype(np.float64)),
        )
        for name, column in (
            *(("arrival", jobs.arrival), ("seconds", jobs.seconds), ("requested", jobs.requested)),
            *(
                ("width", jobs.width),
                ("cores", jobs.cpu_milli / 1000),
                ("memory (MiB)", jobs.memory_mib),
            ),
        )
        if np.isfinite(column).any()
    }
    if json:
        document = {"rows": found.rows, "skipped": dict(found.skipped), "jobs": len(jobs), "asked": jobs.describe()}
        machine = {"machines": machines.describe() if machines else None}
        output.print_json({**document, **machine, **{name: asdict(each) for name, (_, each) in shapes.items()}})
        return
    typer.echo(f"{', '.join(path.name for path in files)}: {output.count(len(jobs), 'job')} of a shared cluster")
    for reason, count in found.skipped.items():
        typer.echo(f"  {count:>9,} rows skipped: {reason}")
    output.print_lines(textwrap.wrap(f"asked for: {jobs.describe()}", 80))
    typer.echo(f"machines: {machines.describe() if machines else 'not named'}")
    table = _begin_table()
    for name, (unit, each) in shapes.items():
        _add_row(table, f"{name} (log)" if each.scale == "log" else name, unit, each, width=JOB_WIDTH)
    output.console().print(table)


def _read_jobs(files: list[Path], form: str) -> ImportedJobs:
    from hybrid_scheduler.workloads.formats import reader
    from hybrid_scheduler.workloads.job_presets import JOB_PRESETS, draw_jobs

    if str(files[0]) in JOB_PRESETS:
        jobs, machines = draw_jobs(str(files[0]), 0)
        return reader.ImportedJobs(jobs, len(jobs), machines=machines)
    return reader.read_jobs(files, form)


def _describe(tasks: Tasks, machine: Cluster, shape: Shape, whose: str) -> list[str]:
    gpus = f"{len(machine.gpus):,} of them GPUs" if len(machine.gpus) else "none of them a GPU"
    idle = sorted(name for name, column in tasks.measured.items() if (column == float("inf")).all())
    known = _abbreviate(sorted(set(tasks.measured) - set(idle)))
    times = known or ("none" if idle else "none, the formulas apply")
    times += f"; no task can run on {_abbreviate(idle)}" if idle else ""
    devices = f"{len(machine.nodes):,} nodes, {len(machine.devices):,} devices, {gpus}"
    lines = [
        f"machines ({whose}): {devices if len(machine.classes) > 4 else machine.describe()}",
        f"measured times: {times}",
        f"expected times: {_abbreviate(sorted(tasks.expected)) or 'none, policies see the true ones'}",
        f"features: {_abbreviate(sorted(tasks.features)) or 'none'}",
        f"dependencies: {shape.dependency_share:.0%} of tasks wait for others"
        if shape.dependency_share
        else "dependencies: none",
    ]
    if tasks.measured and not {each.name for each in machine.classes} & set(tasks.measured):
        lines.append(
            "ASSUMED: these machines have none of those classes; load, best times and bound follow the formula"
        )
    if shape.span > 0:
        lines.append(
            f"arrivals over {_figure(shape.span, 's')}: {shape.arrival_rate:.3g} tasks/s, offered load "
            f"{shape.offered_load:.3g}, gaps vary by {shape.burstiness:.2g} times their mean"
        )
    else:
        lines.append("arrivals: all at once")
    if len(machine.devices) == 1:
        lines.append("one device: there is nothing to schedule; give other machines with --cluster, such as")
        lines.append(f"  nodes: [{{count: 2, devices: {{{machine.classes[0].name}: 8}}}}]")
    if shape.unfit_share:
        lines.append(f"{shape.unfit_share:.2%} of tasks fit none of these machines")
    if shape.bound == shape.bound:
        lines.append(f"no schedule ends before {_figure(shape.bound, 's')}")
    return lines


def _abbreviate(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _print_histograms(shape: Shape, seconds: Distribution) -> None:
    table = _begin_table()
    if shape.span > 0:
        arrivals = shape.arrivals
        first, last = (_figure(edge, "s") for edge in (arrivals.edges[0], arrivals.edges[-1]))
        table.add_row("arrival", first, sparkline(arrivals.counts), last, "", "")
    for name, unit, each in (
        ("best time", "s", seconds),
        ("memory", "MB", shape.memory_required),
        ("size", "", shape.size),
        ("intensity", "", shape.compute_intensity),
    ):
        notes = ", ".join(filter(None, ("" if unit == "s" else unit, "log" if each.scale == "log" else "")))
        _add_row(table, f"{name} ({notes})" if notes else name, unit, each)
    output.console().print(table)


def _begin_table() -> Table:
    table = output.table("", "least", "picture", "most", "median", "p99")
    table.columns[2].justify = "left"
    return table


def _add_row(table: Table, name: str, unit: str, each: Distribution, width: int = WIDTH) -> None:
    low, high, median, p99 = (_figure(value, unit) for value in (each.minimum, each.maximum, each.median, each.p99))
    table.add_row(name, low, sparkline(each.counts, width), high, median, p99)


def _figure(value: float, unit: str) -> str:
    """Format a time with a unit that suits it, anything else as a bare number; large ones with commas."""
    if unit != "s":
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    for long, name in LONG:
        if value >= 2 * long:
            return f"{value / long:,.3g} {name}"
    return output.quantity(value, "s")


def sparkline(counts: list[int], width: int = WIDTH) -> str:
    """Draw a histogram in one line; a bin with anything in it is never blank."""
    if len(counts) > width:
        edges = [round(place * len(counts) / width) for place in range(width + 1)]
        counts = [sum(counts[first:last]) for first, last in pairwise(edges)]
    most = max(counts, default=0)
    return "".join(BARS[max(0, -(-count * 8 // most) - 1)] if count else " " for count in counts)
