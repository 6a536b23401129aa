"""`hms inspect`: the shape of a file of tasks in numbers and in a picture."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_scheduler.cli import options, show
from hybrid_scheduler.cli.import_ import Files, FormatName, account

if TYPE_CHECKING:
    from hybrid_scheduler.model.cluster import Cluster
    from hybrid_scheduler.workload.formats.format import Imported
    from hybrid_scheduler.workload.shape import Distribution, Shape

BARS = "▁▂▃▄▅▆▇█"


def inspect(
    files: Files,
    form: FormatName = "",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    png: Annotated[Path | None, typer.Option("--png", help="Write the picture to this file (PNG, SVG, PDF).")] = None,
    json: options.Json = False,
) -> None:
    """Show what a file holds: rows, tasks, arrivals, times, memory, and how busy they keep a cluster."""
    from hybrid_scheduler.runs import to_json
    from hybrid_scheduler.workload.formats import reader
    from hybrid_scheduler.workload.importing import machines_beside
    from hybrid_scheduler.workload.shape import seconds_of, shape_of

    used = reader.format_for(files, form)
    found = reader.read_all(files, used.name)
    beside = machines_beside(files[0]) if cluster is None and gpus is None and found.cluster is None else None
    machine = _machine(found, cluster or beside, gpus)
    shape, seconds = shape_of(found.tasks, machine), seconds_of(found.tasks, machine)
    if png:
        from hybrid_scheduler.reports.look import add_title, save_figure
        from hybrid_scheduler.reports.trace_shape import plot_trace_shape

        ax = plot_trace_shape(found.tasks, machine)
        add_title(ax, f"{files[0].name}: {len(found.tasks):,} tasks")
        save_figure(ax, png)
    if json:
        document = {"format": used.name, "rows": found.rows, "tasks": len(found.tasks)}
        typer.echo(to_json({**document, **asdict(shape), "seconds": asdict(seconds)}), nl=False)
        return
    typer.echo(f"{', '.join(path.name for path in files)}: {used.name} ({used.summary})")
    whose = "of the file" if machine is found.cluster else f"of {beside.name}" if beside else "not of the file"
    for line in [*account(found), *_lines(found, machine, shape, whose)]:
        typer.echo(line)
    _print_pictures(shape, seconds)
    if png:
        typer.echo(f"wrote {png}")


def _machine(found: Imported, path: Path | None, gpus: int | None) -> Cluster:
    if path is None and gpus is None and found.cluster:
        return found.cluster
    return options.cluster_of(path, gpus)


def _lines(found: Imported, machine: Cluster, shape: Shape, whose: str) -> list[str]:
    devices = f"{len(machine.nodes):,} nodes, {len(machine.devices):,} devices, {len(machine.gpus):,} of them GPUs"
    lines = [
        f"machines ({whose}): {devices if len(machine.classes) > 4 else machine.describe()}",
        f"measured times: {_some(shape.measured_classes) or 'none, the formulas apply'}",
        f"expected times: {_some(sorted(found.tasks.expected)) or 'none, the true ones are told'}",
        f"features: {_some(sorted(found.tasks.features)) or 'none'}",
        f"dependencies: {shape.dependency_share:.0%} of tasks wait for others"
        if shape.dependency_share
        else "dependencies: none",
    ]
    if shape.span > 0:
        lines.append(
            f"arrivals over {show.quantity(shape.span, 's')}: {shape.arrival_rate:.3g} tasks/s, offered load "
            f"{shape.offered_load:.3g}, gaps vary by {shape.burstiness:.2g} times their mean"
        )
    else:
        lines.append("arrivals: all at once")
    if shape.unfit_share:
        lines.append(f"{shape.unfit_share:.2%} of tasks fit none of these machines")
    if shape.bound == shape.bound:
        lines.append(f"no schedule ends before {show.quantity(shape.bound, 's')}")
    return lines


def _some(names: list[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _print_pictures(shape: Shape, seconds: Distribution) -> None:
    table = show.table("", "least", "picture", "most", "median", "p99")
    table.columns[2].justify = "left"
    arrivals = shape.arrivals
    first, last = (show.quantity(edge, "") for edge in (arrivals.edges[0], arrivals.edges[-1]))
    table.add_row("arrival (s)", first, bars(arrivals.counts), last, "", "")
    for name, unit, each in _pictures(shape, seconds):
        notes = ", ".join(filter(None, (unit, "log" if each.scale == "log" else "")))
        figures = (show.quantity(value, "") for value in (each.minimum, each.maximum, each.median, each.p99))
        low, high, median, p99 = figures
        table.add_row(f"{name} ({notes})" if notes else name, low, bars(each.counts), high, median, p99)
    show.console().print(table)


def _pictures(shape: Shape, seconds: Distribution) -> list[tuple[str, str, Any]]:
    return [
        ("best time", "s", seconds),
        ("memory", "MB", shape.memory_required),
        ("size", "", shape.size),
        ("intensity", "", shape.compute_intensity),
    ]


def bars(counts: list[int], width: int = 24) -> str:
    """Draw a histogram in one line; a bin with anything in it is never blank."""
    merged = [sum(part) for part in _parts(counts, width)]
    most = max(merged, default=0)
    return "".join(BARS[max(0, -(-count * 8 // most) - 1)] if count else " " for count in merged)


def _parts(counts: list[int], width: int) -> list[list[int]]:
    if len(counts) <= width:
        return [[count] for count in counts]
    edges = [round(place * len(counts) / width) for place in range(width + 1)]
    return [counts[first:last] for first, last in pairwise(edges)]
