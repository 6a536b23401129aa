"""`hms bound`: the certified lower bound of a workload, and the exact optimum of a small batch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
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
    jobs: Annotated[
        bool, typer.Option("--jobs", help="Read the file as wide jobs of a shared cluster; their presets always are.")
    ] = False,
    nodes: Annotated[Path | None, typer.Option("--nodes", help="With --jobs: a list of nodes.")] = None,
    processors: Annotated[
        int | None, typer.Option("--processors", help="With --jobs: a pool of so many processors.")
    ] = None,
    turnaround: Annotated[
        bool, typer.Option("--turnaround", help="Also bound the mean turnaround: seconds of search per 2000 tasks.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Print a time below which no schedule can end, with the prices that prove it."""
    from hybrid_scheduler.bounds.makespan import lower_bound, verify_bound
    from hybrid_scheduler.workloads.job_presets import JOB_PRESETS
    from hybrid_scheduler.workloads.source import Source, describe_assumptions

    workload = options.choose_workload(workload)
    if jobs or workload in JOB_PRESETS:
        _bound_jobs([workload, *([str(nodes)] if nodes else [])], (processors, gpus), tasks, seed, json)
        return
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
        _print_prices(found.prices)
    typer.echo(f"checked independently: {'yes' if checked else 'NO, please report this'}")
    if best:
        time, word = output.quantity(best.makespan, "s"), "proved optimal to 0.1 %" if best.proved else "best found"
        typer.echo(f"whole tasks as one batch at time 0: {time}, {word} (gap {best.gap:.2%})")
    for scope, (flow, proved) in zip(("of whole tasks", "that may split tasks"), flows, strict=False):
        mean, word = output.quantity(flow.mean, "s"), "yes" if proved else "NO, please report this"
        typer.echo(f"no schedule {scope} has a mean turnaround below {mean} ({flow.mean!r} s)")
        proof = f"prices on {len(flow.grid) - 1} cells of time" if flow.kind == "prices" else "SRPT on one machine"
        typer.echo(f"proof: {proof}; checked independently: {word}")


def _bound_jobs(
    files: list[str], pool: tuple[int | None, int | None], count: int | None, seed: int, json: bool
) -> None:
    """Print what no schedule of wide jobs can beat: an end, and a mean turnaround."""
    from hybrid_scheduler.bounds.area import area_bound, verify_area_bound
    from hybrid_scheduler.bounds.job_turnaround import job_turnaround_bound, verify_job_turnaround_bound
    from hybrid_scheduler.studies.jobs import JobStudy

    study = JobStudy.read(files, pool=pool, seeds=(seed,), window_jobs=count)
    case = study.cases()[0]
    jobs, machines = case.jobs, case.machines
    found, flow = area_bound(jobs, machines), job_turnaround_bound(jobs, machines)
    checked = verify_area_bound(found, jobs, machines) and verify_job_turnaround_bound(flow, jobs, machines)
    if json:
        bounds = {"end": asdict(found), "mean_turnaround": asdict(flow), "verified": checked}
        output.print_json({"source": study.name, "jobs": len(jobs), "machines": machines.describe(), **bounds})
        return
    typer.echo(f"{study.name}: {output.count(len(jobs), 'job')} on {machines.describe()}")
    typer.echo(f"no schedule ends before {output.quantity(found.end, 's')} ({found.end!r} s)")
    if found.prices:
        typer.echo(f"proof: work that arrives from {found.since:.6g} s on, at these prices per second:")
        _print_prices(found.prices)
    else:
        typer.echo(f"proof: job {jobs.job_id[found.row]} alone ends no sooner")
    typer.echo(f"no schedule has a mean turnaround below {output.quantity(flow.mean, 's')} ({flow.mean!r} s)")
    if flow.prices:
        typer.echo("proof: one machine that serves the shortest remaining work first, at these prices per second:")
        _print_prices(flow.prices)
    else:
        typer.echo("proof: the seconds of every job where it runs fastest")
    typer.echo(f"checked independently: {'yes' if checked else 'NO, please report this'}")


def _print_prices(prices: dict[str, float]) -> None:
    for name, price in prices.items():
        typer.echo(f"  {name:12} {price:.9g}")
