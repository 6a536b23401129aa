"""`hms import`: convert third-party traces, logs and benchmark instances into tables of tasks."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output

if TYPE_CHECKING:
    from hybrid_scheduler.workloads.formats.reader import Format


def import_(
    files: options.Files,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write: .parquet, .csv, .csv.gz or .csv.zst.")],
    form: options.FormatName = "",
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
    for line in [*output.describe_rows(found), *_describe_mapping(report.form)]:
        typer.echo(line)
    speed = f"{found.rows / seconds:,.0f} rows/s, {report.bytes / seconds / 1e6:.3g} MB/s"
    typer.echo(f"read in {output.quantity(seconds, 's')}: {speed}")
    size = report.tasks_file.stat().st_size / 1e6
    typer.echo(f"wrote {report.tasks_file}: {len(found.tasks):,} tasks, {size:.3g} MB")
    if report.cluster_file and found.cluster:
        counts = output.count(len(found.cluster.nodes), "node"), output.count(len(found.cluster.devices), "device")
        typer.echo(f"wrote {report.cluster_file}: {', '.join(counts)}")


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
