"""`hms import`: convert third-party traces, logs and benchmark instances into tables of tasks."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output

if TYPE_CHECKING:
    from hybrid_scheduler.workloads.formats.reader import Format, Imported

Files = Annotated[
    list[Path], typer.Argument(help="A file and its companions (pods with their list of nodes); gzip and zstd too.")
]
FormatName = Annotated[
    str, typer.Option("--format", help="The format; detected from the file's first bytes if absent.")
]


def import_(
    files: Files,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write: .parquet, .csv, .csv.gz or .csv.zst.")],
    form: FormatName = "",
    cluster_out: Annotated[
        Path | None,
        typer.Option("--cluster-out", help="Where to write the machines of the files (tasks.cluster.yaml)."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    json: options.Json = False,
) -> None:
    """Read files of any known format, account for every row and column, and write tasks."""
    from hybrid_scheduler.workloads.conversion import import_files

    report = import_files(files, out, form, cluster_out, force)
    found, seconds = report.found, report.seconds
    if json:
        document = {
            "format": report.form.name,
            "rows": found.rows,
            "used": found.used,
            "skipped": dict(found.skipped),
            "tasks": len(found.tasks),
            "mapping": [asdict(each) for each in report.form.mapping],
            "tasks_file": str(report.tasks_file),
            "cluster_file": str(report.cluster_file) if report.cluster_file else None,
            "nodes": len(found.cluster.nodes) if found.cluster else None,
        }
        output.print_json(document)
        return
    typer.echo(f"{', '.join(path.name for path in files)}: {report.form.name} ({report.form.summary})")
    for line in [*describe_rows(found), *_describe_mapping(report.form)]:
        typer.echo(line)
    speed = f"{found.rows / seconds:,.0f} rows/s, {report.bytes / seconds / 1e6:.3g} MB/s"
    typer.echo(f"read in {output.quantity(seconds, 's')}: {speed}")
    size = report.tasks_file.stat().st_size / 1e6
    typer.echo(f"wrote {report.tasks_file}: {len(found.tasks):,} tasks, {size:.3g} MB")
    if report.cluster_file and found.cluster:
        counts = output.count(len(found.cluster.nodes), "node"), output.count(len(found.cluster.devices), "device")
        typer.echo(f"wrote {report.cluster_file}: {', '.join(counts)}")


def describe_rows(found: Imported) -> list[str]:
    """Return lines on how many rows became tasks and why others were skipped."""
    from hybrid_scheduler.workloads.source import describe_assumptions

    tasks = len(found.tasks)
    became = f"{found.used:,} became {'one task each' if tasks == found.used else f'{tasks:,} tasks'}"
    lines = [f"{found.rows:,} rows: {became}, {found.rows - found.used:,} were skipped"]
    lines += [f"  {count:>9,} {reason}" for reason, count in found.skipped.items()]
    return [*lines, *textwrap.wrap(" ".join(describe_assumptions(found.tasks)), 80)]


def _describe_mapping(form: Format) -> list[str]:
    """Say what each column becomes, ground by ground."""
    lines = []
    for ground in dict.fromkeys(each.ground for each in form.mapping):
        lines.append(f"{ground}:")
        for each in form.mapping:
            if each.ground == ground:
                text = " → ".join(filter(None, (each.column, each.becomes))) + (f": {each.note}" if each.note else "")
                lines += textwrap.wrap(text, 80, initial_indent="  ", subsequent_indent="      ")
    return lines
