"""`hms sweep`: comparisons over a grid, spread over processes or a Ray cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from hybrid_scheduler.studies.sweep import Carry


def sweep(
    grid: Annotated[Path, typer.Argument(help="A YAML file: schedulers, workloads, loads, clusters, seeds, tasks.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder; a sweep that was interrupted goes on in it.")],
    processes: Annotated[int | None, typer.Option("--processes", "-p", help="As many as there are cores.")] = None,
    address: Annotated[
        str, typer.Option("--address", help="A Ray cluster: HOST:PORT, auto (the one that runs here) or local.")
    ] = "",
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for one comparison.")] = 3600.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Run policies × workloads × loads × clusters × seeds and collect one Parquet table."""
    from hybrid_scheduler.studies.sweep import RESULTS, digest, read_grid, run_sweep

    if processes is not None and address:
        raise InputError("both --processes and --address were given: give one of them")
    wanted = read_grid(grid)
    carry = _carry(processes, address, time_limit)
    with output.progress("comparisons", quiet=quiet) as step:
        finished = run_sweep(wanted, out, carry, step)
    before = f", {finished.resumed} of them there before" if finished.resumed else ""
    typer.echo(f"{finished.points} comparisons{before}: {out / RESULTS} (SHA-256 {digest(out)[:16]}…), simulated")


def _carry(processes: int | None, address: str, time_limit: float) -> Carry:
    if address:
        from hybrid_scheduler.runtime.ray_jobs import on_ray

        return on_ray(address)
    from hybrid_scheduler.studies.sweep import on_processes

    count = os.cpu_count() or 1 if processes is None else processes
    if count < 1 or not time_limit > 0:
        raise InputError("--processes and --time-limit are numbers above 0: correct them")
    return on_processes(count, time_limit)
