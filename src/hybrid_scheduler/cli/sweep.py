"""`hms sweep`: comparisons over a grid, in processes or on a Ray cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError


def sweep(
    grid: Annotated[Path, typer.Argument(help="A YAML file: schedulers, workloads, loads, clusters, seeds, tasks.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; an interrupted sweep continues in it.")],
    processes: options.Processes = None,
    address: Annotated[
        str, typer.Option("--address", help="A Ray cluster: HOST:PORT, auto (the one that runs here) or local.")
    ] = "",
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for one comparison.")] = 3600.0,
    quiet: options.Quiet = False,
) -> None:
    """Run policies × workloads × loads × clusters × seeds and collect one Parquet table."""
    from hybrid_scheduler.studies.sweep import RESULTS, digest, read_grid, run_on_processes, run_sweep

    if processes is not None and address:
        raise InputError("both --processes and --address were given: give one of them")
    wanted = read_grid(grid)
    if address:
        from hybrid_scheduler.runtime.ray_backend import run_on_ray

        runner = run_on_ray(address)
    else:
        count = os.cpu_count() or 1 if processes is None else processes
        if count < 1 or not time_limit > 0:
            raise InputError("--processes and --time-limit are numbers above 0: correct them")
        runner = run_on_processes(count, time_limit)
    with output.progress("comparisons", quiet=quiet) as step:
        finished = run_sweep(wanted, out, runner, step)
    before = f", {finished.resumed} of them finished before" if finished.resumed else ""
    typer.echo(f"{finished.points} comparisons{before}: {out / RESULTS} (SHA-256 {digest(out)[:16]}…), simulated")
