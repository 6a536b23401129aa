"""`hms bench-suite`: every policy on every instance of a directory, one scoreboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from hybrid_scheduler.studies.scoreboard import Scoreboard

Number = TypeVar("Number", int, float)


def bench_suite(
    places: Annotated[list[str], typer.Argument(help="Directories of instances, files, and workloads by name.")],
    schedulers: options.Schedulers = "all",
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the scoreboard.")] = Path("scoreboard"),
    seeds: options.Seeds = "1",
    cluster: options.ClusterFile = None,
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
    from hybrid_scheduler.studies.suite import MARKDOWN, PNG, Suite, find_instances, run_suite, save_scoreboard

    require_new(out)
    suite_files = find_instances(places, _parse_best(best or []))
    suite = Suite(
        tuple(suite_files.instances),
        options.parse_schedulers(schedulers),
        Cluster.from_yaml(cluster) if cluster else None,
        options.parse_seeds(seeds),
        _require_positive("--processes", processes or os.cpu_count() or 1),
        _require_positive("--time-limit", time_limit),
    )
    with output.progress("cells", quiet=quiet) as step:
        board = run_suite(suite, step)
    with new_directory(out) as folder:
        save_scoreboard(board, folder, output.command_line(), suite_files.ignored)
        save_figure(plot_scoreboard(board), folder / PNG)
    _print(board)
    typer.echo(f"{len(board.instances)} instances, {len(suite_files.ignored)} other files; all in {out}/{MARKDOWN}")


def _require_positive(name: str, value: Number) -> Number:
    if not value > 0:
        raise InputError(f"{name} is {value}, expected a number above 0")
    return value


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


def _print(board: Scoreboard) -> None:
    from hybrid_scheduler.studies.scoreboard import format_number

    rows = output.table("policy", "instances", "geometric mean", "worst", "shortest on", "seconds")
    for each in board.standings():
        ended = f"{each.instances} of {len(board.instances)}"
        ratios = map(format_number, (each.mean, each.worst))
        rows.add_row(each.policy, ended, *ratios, str(each.wins), f"{each.seconds:.2f}")
    output.console().print(rows)
    typer.echo("makespan / best known value or certified bound, simulated; seconds measured")
