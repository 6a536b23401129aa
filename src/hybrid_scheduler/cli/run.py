"""`hms run`: run a workload for real and print what was measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from hybrid_scheduler.runtime.lane import RealRun
    from hybrid_scheduler.studies.compare import Result

DEFAULT = "round_robin,greedy,hybrid_ml,eft"
NAMES = 16  # letters of a scheduler's name in the table


def run(
    workload: Annotated[str, typer.Argument(help="A preset or a file of tasks; mixed if absent.")] = "mixed",
    backend: Annotated[str, typer.Option("--backend", help="local (processes) or ray (actors).")] = "local",
    scheduler: Annotated[
        str, typer.Option("--scheduler", "--schedulers", "-s", help="Names with commas, 'all' is all.")
    ] = DEFAULT,
    tasks: options.Tasks = None,
    devices: Annotated[
        str,
        typer.Option(
            "--devices",
            help="auto (what this machine has), emulated (two classes on any machine), or a list such as "
            "cpu:threads=2,cuda:0 or cpu,gpu=emulated:slowdown=2.",
        ),
    ] = "auto",
    address: Annotated[str | None, typer.Option("--address", help="Of a Ray cluster; a local one if absent.")] = None,
    at_once: Annotated[bool, typer.Option("--at-once", help="Submit every task at the start.")] = False,
    pace: Annotated[float, typer.Option("--pace", help="Let time of arrivals pass this many times as fast.")] = 1.0,
    scale: Annotated[float, typer.Option("--scale", help="Edge of a kernel's arrays per unit of size.")] = 0.1,
    rate: options.Rate = None,
    seeds: Annotated[str, typer.Option("--seeds", help="How many seeds (1), or a list such as 3,7.")] = "1",
    remember: Annotated[
        bool, typer.Option("--remember", help="Start from the times kept for this machine, and keep the new ones.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep the run in this new folder.")] = None,
    json: options.Json = False,
) -> None:
    """Run built-in kernels, sized by the tasks, on real devices; every figure but watts and prices is measured."""
    from hybrid_scheduler.files import require_new
    from hybrid_scheduler.runtime.devices import cluster_of, devices_of
    from hybrid_scheduler.runtime.lane import Pace, RealRun
    from hybrid_scheduler.runtime.measured_times import load_times, save_times, times_path
    from hybrid_scheduler.studies import compare, results
    from hybrid_scheduler.workloads.source import Source

    for name, value in (("--pace", pace), ("--scale", scale)):
        if not 0 < value < float("inf"):
            raise InputError(f"{name} is {value:g}, expected a number above 0")
    if out:
        require_new(out)
    specs = devices_of(devices)
    comparison = compare.Comparison(
        source=Source.of(workload, tasks, rate),
        schedulers=options.schedulers_of(scheduler),
        cluster=cluster_of(specs),
        seeds=options.seeds_of(seeds),
        measured=True,
    )
    times = load_times(times_path()) if remember else None
    real = RealRun(comparison, specs, backend, address, Pace(pace, at_once, scale), times)
    comparison.source.tasks(comparison.seeds[0], comparison.cluster)  # bad tasks are refused before any lesson
    output.give_lessons(comparison.schedulers, comparison.cluster, "queued", quiet=json)
    with output.progress("running", quiet=json) as progress:
        result = real.run(lambda _, done, total: progress(done, total))
    if times is not None:
        save_times(times, times_path())
    if out:
        results.save(result, out, ["hms", *sys.argv[1:]], real.files())
    if json:
        typer.echo(results.to_json(results.to_document(result)), nl=False)
        return
    _print(result, real)
    if out:
        typer.echo(f"wrote {out}")


def _print(result: Result, real: RealRun) -> None:
    console = output.console()
    comparison, first = result.comparison, result.outcomes[0]
    seeds = f"{len(comparison.seeds)} seed{'s' if len(comparison.seeds) > 1 else ''}"
    names = ", ".join(each.label for each in real.devices)
    for line in (
        f"{Path(comparison.source.name).name}: {first.workload['num_tasks']:,} tasks, {real.backend}, {seeds}",
        f"devices: {names}",
        "times are measured, watts and prices are the model's",
        f"bound {output.quantity(first.bound.makespan, 's')} for the times that were measured or learnt",
        "",
    ):
        console.print(line, soft_wrap=True, markup=False)
    console.print(_table(result))
    for line in _remarks(result, real):
        console.print(line, soft_wrap=True, markup=False)


def _table(result: Result) -> Table:
    table = output.table("measured", "makespan", "/ bound", "turnaround", "p99", "busy", "decision")
    for spec in result.ranking("makespan"):
        mean = {name: result.interval(spec, name).mean for name in result.outcomes[0].measures[spec]}
        decision = sum(each.decision_seconds[spec] for each in result.outcomes) / len(result.outcomes)
        table.add_row(
            spec if len(spec) <= NAMES else spec[: NAMES - 1] + "…",
            output.quantity(mean["makespan"], "s"),
            f"{mean['makespan_over_bound']:.3f}",
            output.quantity(mean["mean_turnaround"], "s"),
            output.quantity(mean["p99_turnaround"], "s"),
            f"{mean['utilisation']:.0%}",
            output.quantity(decision, "s"),
        )
    return table


def _remarks(result: Result, real: RealRun) -> list[str]:
    lines = []
    if not any(each.kind == "gpu" for each in real.devices):
        lines.append("no GPU here, so there was nothing to choose: --devices emulated plays two classes")
    rejected = {spec: result.interval(spec, "rejected").mean for spec in result.comparison.schedulers}
    if max(rejected.values()) > 0:
        lines.append(f"up to {max(rejected.values()):g} tasks a seed were rejected or lost")
    failed = sum(lap.failed for lap in real.laps.values())
    restarts = sum(lap.restarts for lap in real.laps.values())
    if failed or restarts:
        lines.append(f"{failed} tasks raised exceptions, {restarts} workers died and were replaced")
    return lines
