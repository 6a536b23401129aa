"""`hms run`: run a workload for real and print what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from hybrid_scheduler.runtime.lane import MeasuredComparison
    from hybrid_scheduler.studies.compare import Result

DEFAULT = "round_robin,greedy,hybrid_ml,eft"


def run(
    workload: Annotated[str, typer.Argument(help="A preset or a file of tasks; mixed if absent.")] = "",
    backend: options.Backend = "local",
    scheduler: Annotated[
        str, typer.Option("--scheduler", "--schedulers", "-s", help="Comma-separated names, 'all' is all.")
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
    address: options.Address = None,
    at_once: Annotated[bool, typer.Option("--at-once", help="Submit every task at the start.")] = False,
    pace: Annotated[float, typer.Option("--pace", help="Play arrivals back this many times as fast.")] = 1.0,
    scale: options.Scale = 0.1,
    rate: options.Rate = None,
    seeds: options.FewSeeds = "1",
    serialise: options.Serialise = False,
    repeats: options.Repeats = 3,
    remember: Annotated[
        bool, typer.Option("--remember", help="Start from times measured here before, and save the new ones.")
    ] = False,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Run built-in kernels, sized by the tasks, on real devices; every figure but watts and prices is measured."""
    from hybrid_scheduler.files import require_new
    from hybrid_scheduler.runtime.devices import build_cluster, describe_load, parse_devices
    from hybrid_scheduler.runtime.lane import MeasuredComparison, Pace
    from hybrid_scheduler.runtime.measured_times import load_times, save_times, times_path
    from hybrid_scheduler.studies import compare, results
    from hybrid_scheduler.workloads.source import Source

    for name, value in (("--pace", pace), ("--scale", scale)):
        if not 0 < value < float("inf"):
            raise InputError(f"{name} is {value:g}, expected a number above 0")
    if out:
        require_new(out)
    specs, load = parse_devices(devices), describe_load()
    names = options.parse_schedulers(scheduler)
    comparison = compare.Comparison(
        source=Source.of(options.choose_workload(workload), tasks, rate, serialise=serialise),
        schedulers=names,
        cluster=build_cluster(specs),
        seeds=options.parse_seeds(seeds),
        measured=True,
    )
    times = load_times(times_path()) if remember else None
    real = MeasuredComparison(comparison, specs, backend, address, Pace(pace, at_once, scale), times, repeats)
    comparison.source.tasks(comparison.seeds[0], comparison.cluster)  # refuse bad tasks before any training
    output.pretrain_missing(comparison.schedulers, comparison.cluster, "queued", quiet=json)
    with output.progress("running", quiet=json) as progress:
        result = real.run(lambda _, done, total: progress(done, total))
    if times is not None:
        save_times(times, times_path())
    if out:
        results.save_result(result, out, output.command_line(), real.files())
    if json:
        makespans = {spec: [run.makespans for (_, name), run in real.runs.items() if name == spec] for spec in names}
        noise = {"load": load, "makespans": makespans, "ranking": real.describe_ranking(result.ranking("makespan"))}
        output.print_json({**results.to_document(result), "repeats": noise})
        return
    _print(result, real, load)
    if out:
        typer.echo(f"wrote {out}")


def _print(result: Result, real: MeasuredComparison, load: str) -> None:
    from hybrid_scheduler.runtime.devices import describe_devices
    from hybrid_scheduler.studies.compare import shorten

    tasks, repeats = result.outcomes[0].workload["num_tasks"], output.count(real.repeats, "repeat")
    how_often = f"{output.count(len(result.outcomes), 'seed')}, {repeats}"
    lines = [
        f"{Path(result.comparison.source.name).name}: {tasks:,} tasks, {real.backend}, {how_often}",
        f"devices: {describe_devices(real.devices)}",
        load,
        "times are measured, the median of the repeats; watts and prices are the model's",
        result.describe_bound(),
        *result.assumptions,
        "",
    ]
    output.print_lines(lines)
    table = output.table("measured", "makespan", "spread", "/ bound", "turnaround", "p99", "busy", "decision")
    for spec in result.ranking("makespan"):
        mean = {name: result.interval(spec, name).mean for name in result.outcomes[0].measures[spec]}
        low, high = real.measure_spread(spec)
        decision = sum(each.decision_seconds[spec] for each in result.outcomes) / len(result.outcomes)
        table.add_row(
            shorten(spec),
            output.quantity(mean["makespan"], "s"),
            f"±{(high - low) / (high + low):.0%}",
            f"{mean['makespan_over_bound']:.3f}",
            output.quantity(mean["mean_turnaround"], "s"),
            output.quantity(mean["p99_turnaround"], "s"),
            f"{mean['utilisation']:.0%}",
            output.quantity(decision, "s"),
        )
    output.console().print(table)
    lines = [real.describe_ranking(result.ranking("makespan"))]
    lines += filter(None, (result.describe_splitting(shorten), *result.describe_lost_tasks(shorten)))
    if not any(each.kind == "gpu" for each in real.devices):
        lines.append("no GPU here, so there was nothing to choose: --devices emulated plays two classes")
    failed = sum(run.failed for run in real.runs.values())
    restarts = sum(run.restarts for run in real.runs.values())
    if failed or restarts:
        lines.append(f"{failed} tasks raised exceptions, {restarts} workers died and were replaced")
    output.print_lines(lines)
