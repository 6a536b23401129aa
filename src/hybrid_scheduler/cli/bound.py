"""`hms bound`: the certified lower bound of a workload, and the exact optimum of a small batch."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_scheduler.cli import options, output

if TYPE_CHECKING:
    from hybrid_scheduler.bounds.makespan import Bound

GAP = 1e-3
"""Relative gap of the proof: identical GPUs make a smaller one take minutes for a batch of forty."""


def bound(
    workload: options.Workload = "mixed",
    tasks: options.Tasks = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of a preset.")] = 0,
    load: options.Load = None,
    rate: options.Rate = None,
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Also find the exact optimum of whole tasks (one batch).")
    ] = False,
    json: options.Json = False,
) -> None:
    """Print a time below which no schedule can end, with the prices that prove it."""
    from hybrid_scheduler.bounds.makespan import lower_bound, verify_bound
    from hybrid_scheduler.workloads.source import Source

    source = Source.of(workload, tasks, rate, load)
    machine = options.build_cluster(cluster, gpus, source=source)
    columns = source.tasks(seed, machine)
    found = lower_bound(columns, machine)
    checked = verify_bound(found, columns, machine)
    best = None
    if exact:
        from hybrid_scheduler.bounds.optimum import optimum

        best = optimum(columns.with_arrival_times([0.0] * len(columns)), machine, time_limit=20.0, gap=GAP)
    if json:
        bound_document = {**asdict(found), "path": list(found.path), "verified": checked}
        del bound_document["limit"]  # only batches of whole tasks have one
        document: dict[str, Any] = {"workload": source.describe(columns), "bound": bound_document}
        if best:
            document["optimum"] = {"makespan": best.makespan, "lower_bound": best.lower_bound, "proved": best.proved}
        output.print_json(document)
        return
    typer.echo(f"{output.count(len(columns), 'task')} on {machine.describe()}")
    _print_bound(found, checked)
    if best:
        time, word = output.quantity(best.makespan, "s"), "proved optimal to 0.1 %" if best.proved else "best found"
        typer.echo(f"whole tasks as one batch at time 0: {time}, {word} (gap {best.gap:.2%})")


def _print_bound(found: Bound, checked: bool) -> None:
    typer.echo(f"no schedule ends before {output.quantity(found.makespan, 's')} ({found.makespan!r} s)")
    if found.kind == "path":
        typer.echo(f"proof: a chain of {len(found.path)} tasks, each at its fastest: {_abbreviate(found.path)}")
    else:
        typer.echo(f"proof: {_describe_work(found)}, at these prices per second:")
        for name, price in found.prices.items():
            typer.echo(f"  {name:12} {price:.9g}")
    typer.echo(f"checked independently: {'yes' if checked else 'NO, please report this'}")


def _describe_work(found: Bound) -> str:
    if found.kind == "window":
        return f"work that cannot begin before {found.since:.6g} s and has {found.tail:.6g} s of chains after it"
    return f"work that arrives from {found.since:.6g} s on"


def _abbreviate(path: tuple[int, ...]) -> str:
    if len(path) <= 8:
        return " → ".join(map(str, path))
    return " → ".join(map(str, path[:3])) + " → … → " + " → ".join(map(str, path[-3:]))
