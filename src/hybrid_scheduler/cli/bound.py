"""`hms bound`: the certified lower bound of a workload, and the exact optimum of a small batch."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from hybrid_scheduler.cli import options, output

GAP = 1e-3  # relative gap of the proof: identical GPUs make a smaller one take minutes for a batch of forty


def bound(
    workload: options.Workload = "",
    tasks: options.Tasks = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of a preset.")] = 0,
    load: options.Load = None,
    rate: options.Rate = None,
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    assume: options.Assume = "",
    serialise: options.Serialise = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Also find the exact optimum of whole tasks (one batch).")
    ] = False,
    turnaround: Annotated[
        bool, typer.Option("--turnaround", help="Also bound the mean turnaround: seconds of search per 2000 tasks.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Print a time below which no schedule can end, with the prices that prove it."""
    from hybrid_scheduler.bounds.makespan import lower_bound, verify_bound
    from hybrid_scheduler.workloads.source import Source, describe_assumptions

    workload = options.choose_workload(workload)
    load = options.choose_load(workload, load, rate)
    source = Source.of(workload, tasks, rate, load, assume=assume, serialise=serialise)
    machine = options.build_cluster(cluster, gpus, source=source)
    columns = source.tasks(seed, machine)
    found = lower_bound(columns, machine)
    checked = verify_bound(found, columns, machine)
    best = None
    if exact:
        from hybrid_scheduler.bounds.optimum import optimum

        best = optimum(columns.with_arrival_times([0.0] * len(columns)), machine, time_limit=20.0, gap=GAP)
    flows = []
    if turnaround:
        from hybrid_scheduler.bounds.turnaround import turnaround_bound, verify_turnaround_bound

        for whole in (True, False):
            flow = turnaround_bound(columns, machine, whole=whole)
            flows.append((flow, verify_turnaround_bound(flow, columns, machine)))
    if json:
        bound_document = {**asdict(found), "path": list(found.path), "verified": checked}
        del bound_document["limit"]  # only batches of whole tasks have one
        document: dict[str, Any] = {"workload": source.describe(columns), "bound": bound_document}
        if best:
            document["optimum"] = {"makespan": best.makespan, "lower_bound": best.lower_bound, "proved": best.proved}
        for name, (flow, proved) in zip(("whole tasks", "any schedule"), flows, strict=False):
            document.setdefault("turnaround", {})[name] = {"mean": flow.mean, "kind": flow.kind, "verified": proved}
        output.print_json(document)
        return
    typer.echo(f"{output.count(len(columns), 'task')} on {machine.describe()}")
    output.print_lines(describe_assumptions(columns, machine))
    typer.echo(f"no schedule ends before {output.quantity(found.makespan, 's')} ({found.makespan!r} s)")
    if found.kind == "path":
        path = [str(task) for task in found.path]
        chain = " → ".join(path if len(path) <= 8 else [*path[:3], "…", *path[-3:]])
        typer.echo(f"proof: a chain of {len(path)} tasks, each at its fastest: {chain}")
    else:
        work = f"work that arrives from {found.since:.6g} s on"
        if found.kind == "window":
            work = f"work that cannot begin before {found.since:.6g} s and has {found.tail:.6g} s of chains after it"
        typer.echo(f"proof: {work}, at these prices per second:")
        for name, price in found.prices.items():
            typer.echo(f"  {name:12} {price:.9g}")
    typer.echo(f"checked independently: {'yes' if checked else 'NO, please report this'}")
    if best:
        time, word = output.quantity(best.makespan, "s"), "proved optimal to 0.1 %" if best.proved else "best found"
        typer.echo(f"whole tasks as one batch at time 0: {time}, {word} (gap {best.gap:.2%})")
    for scope, (flow, proved) in zip(("of whole tasks", "that may split tasks"), flows, strict=False):
        mean, word = output.quantity(flow.mean, "s"), "yes" if proved else "NO, please report this"
        typer.echo(f"no schedule {scope} has a mean turnaround below {mean} ({flow.mean!r} s)")
        proof = f"prices on {len(flow.grid) - 1} cells of time" if flow.kind == "prices" else "SRPT on one machine"
        typer.echo(f"proof: {proof}; checked independently: {word}")
