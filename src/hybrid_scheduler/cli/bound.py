"""`hms bound`: the certified lower bound of a workload, and the exact optimum of a small batch."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hybrid_scheduler.cli import options, show


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
    from hybrid_scheduler.bounds import lower_bound, verify_bound
    from hybrid_scheduler.runs import to_json
    from hybrid_scheduler.workload.source import Source

    machine = options.cluster_of(cluster, gpus)
    source = Source.of(workload, tasks, rate, load)
    columns = source.tasks(seed, machine)
    found = lower_bound(columns, machine)
    checked = verify_bound(found, columns, machine)
    document: dict[str, Any] = {
        "workload": source.describe(columns),
        "bound": {
            "makespan": found.makespan,
            "kind": found.kind,
            "prices": found.prices,
            "since": found.since,
            "path": list(found.path),
            "verified": checked,
        },
    }
    if exact:
        from hybrid_scheduler.optimum import optimum

        best = optimum(columns.arriving_at([0.0] * len(columns)), machine)
        document["optimum"] = {
            "makespan": best.makespan,
            "lower_bound": best.lower_bound,
            "proved": best.proved,
        }
    if json:
        typer.echo(to_json(document), nl=False)
        return
    typer.echo(f"{len(columns):,} task{'s' if len(columns) > 1 else ''} on {machine.describe()}")
    typer.echo(f"no schedule ends before {show.quantity(found.makespan, 's')} ({found.makespan!r} s)")
    if found.kind == "work":
        typer.echo(f"proof: work that arrives from {found.since:.6g} s on, at these prices per second:")
        for name, price in found.prices.items():
            typer.echo(f"  {name:12} {price:.9g}")
    else:
        typer.echo(f"proof: a chain of {len(found.path)} tasks, each at its fastest: {_ends(found.path)}")
    typer.echo(f"checked independently: {'yes' if checked else 'NO, please report this'}")
    if exact:
        word = "optimal" if document["optimum"]["proved"] else "best found"
        typer.echo(
            f"whole tasks as one batch at time 0: {show.quantity(best.makespan, 's')}, {word} (gap {best.gap:.2%})"
        )


def _ends(path: tuple[int, ...]) -> str:
    if len(path) <= 8:
        return " → ".join(map(str, path))
    return " → ".join(map(str, path[:3])) + " → … → " + " → ".join(map(str, path[-3:]))
