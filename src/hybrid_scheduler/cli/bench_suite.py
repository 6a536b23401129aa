"""`hms bench-suite`: every policy on every instance of a directory, one scoreboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError


def bench_suite(
    places: Annotated[list[str], typer.Argument(help="Directories of instances, files, and workloads by name.")],
    schedulers: options.Schedulers = "all",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the scoreboard.")] = Path("scoreboard"),
    seeds: options.Seeds = "1",
    cluster: options.ClusterFile = None,
    jobs: Annotated[
        bool,
        typer.Option("--jobs", help="Read files as wide jobs of shared clusters; -s names orders such as f1+easy."),
    ] = False,
    best: Annotated[
        list[str] | None, typer.Option("--best", help="NAME=SECONDS: the best known makespan of an instance.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", help="Seconds for one policy on one instance.")
    ] = 120.0,
    processes: options.Processes = None,
    quiet: options.Quiet = False,
) -> None:
    """Run every policy on every instance; write one table as Markdown, CSV and PNG."""
    from hybrid_scheduler.core.cluster import Cluster
    from hybrid_scheduler.files import new_directory, require_new
    from hybrid_scheduler.reports.figures.heatmaps import plot_scoreboard
    from hybrid_scheduler.reports.style import save_figure
    from hybrid_scheduler.studies.scoreboard import format_number
    from hybrid_scheduler.studies.suite import (
        MARKDOWN,
        PNG,
        REFERENCES,
        Journal,
        Suite,
        find_instances,
        run_suite,
        save_scoreboard,
    )

    require_new(out)
    suite_files = find_instances(places, _parse_best(best or []), wide=jobs)
    wide = any(each.wide for each in suite_files.instances)
    for name, reason in suite_files.ignored.items():
        if reason.startswith(f"{REFERENCES};"):
            typer.echo(f"warning: {name}: {reason}", err=True)
    count = processes or os.cpu_count() or 1
    for name, value in (("--processes", count), ("--time-limit", time_limit)):
        if not value > 0:
            raise InputError(f"{name} is {value}, expected a number above 0")
    suite = Suite(
        tuple(suite_files.instances),
        options.parse_orders(schedulers) if wide else options.parse_schedulers(schedulers),
        Cluster.from_yaml(cluster) if cluster else None,
        options.parse_seeds(seeds),
        count,
        time_limit,
    )
    journal = Journal(out.with_name(f"{out.name}.cells.jsonl"))  # what has ended, if this is killed
    with output.progress("cells", quiet=quiet) as step:
        board = run_suite(suite, step, journal)
    with new_directory(out) as folder:
        save_scoreboard(board, folder, output.command_line(), suite_files.ignored, suite)
        save_figure(plot_scoreboard(board), folder / PNG)
    journal.path.unlink(missing_ok=True)
    rows = output.table("policy", "instances", "geometric mean", "worst", "shortest on", "seconds")
    for each in board.standings():
        ended, ratios = f"{each.instances} of {len(board.instances)}", map(format_number, (each.mean, each.worst))
        rows.add_row(each.policy, ended, *ratios, str(each.wins), f"{each.seconds:.2f}")
    output.console().print(rows)
    typer.echo("makespan / best known value or certified bound, simulated; seconds measured")
    others = output.count(len(suite_files.ignored), "other file")
    typer.echo(f"{output.count(len(board.instances), 'instance')}, {others}; all in {out}/{MARKDOWN}")


def _parse_best(pairs: list[str]) -> dict[str, float]:
    values = {}
    for pair in pairs:
        name, _, text = pair.rpartition("=")
        try:
            values[name] = float(text)
        except ValueError:
            values[name] = 0.0
        if not name or not values[name] > 0:
            raise InputError(
                f"--best is '{pair}', expected an instance and seconds above 0, such as u_c_hihi.0=7.3e6"
            )
    return values
