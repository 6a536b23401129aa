"""`hms validate`: simulate and execute the same tasks, and print the error of the simulation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_scheduler.runtime.validation import Validation

MIN_RUNS = 3  # from which the spread says something
LONGEST_NAME = 14  # that leaves room for the figures on a line of 80
CSV, PNG, SUMMARY = "tasks.csv", "validation.png", "summary.json"


def validate(
    workload: Annotated[str, typer.Argument(help="A preset or a file of tasks; mixed if absent.")] = "",
    scheduler: Annotated[
        str, typer.Option("--scheduler", "--schedulers", "-s", help="Comma-separated names.")
    ] = "eft,greedy,hybrid_ml",
    tasks: options.Tasks = 200,
    devices: Annotated[str, typer.Option("--devices", help="auto, emulated, or a list as for hms run.")] = "emulated",
    backend: options.Backend = "local",
    address: options.Address = None,
    scale: options.Scale = 0.1,
    at_once: Annotated[bool, typer.Option("--at-once/--as-they-come", help="Submit every task at the start.")] = True,
    seeds: options.FewSeeds = "1",
    repeats: options.Repeats = 3,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Run tasks between two calibrations of the devices, simulate the same; print the error of the simulation."""
    from hybrid_scheduler.files import require_new
    from hybrid_scheduler.profiling.timing import find_cpu_meter
    from hybrid_scheduler.runtime.devices import build_cluster, describe_devices, describe_load, parse_devices
    from hybrid_scheduler.runtime.executor import create_backend
    from hybrid_scheduler.runtime.lane import Pace
    from hybrid_scheduler.runtime.validation import Calibration, Validator, summarise
    from hybrid_scheduler.workloads.source import Source

    if not 0 < scale < float("inf"):
        raise InputError(f"--scale is {scale:g}, expected a number above 0")
    if out:
        require_new(out)
    specs, names, load = parse_devices(devices), options.parse_schedulers(scheduler), describe_load()
    source = Source.of(options.choose_workload(workload), tasks)
    cluster, pace = build_cluster(specs), Pace(at_once=at_once, scale=scale)
    columns = {seed: source.tasks(seed, cluster) for seed in options.parse_seeds(seeds)}
    output.pretrain_missing(names, cluster, "queued", quiet=json)
    meter, no_meter = find_cpu_meter()
    found: list[Validation] = []
    machine = create_backend(backend, specs, address)
    try:
        validator = Validator(Calibration(machine, next(iter(columns.values())), pace), meter)
        with output.progress("calibrating", quiet=json):
            validator.calibrate()
        for seed, each in columns.items():
            for name in names * repeats:
                with output.progress(f"{name}, seed {seed}", quiet=json) as step:
                    found.append(validator.validate(name, seed, each, step))
    finally:
        machine.close()
    labels = describe_devices(specs)
    document = {"command": output.command_line(), "devices": labels, "load": load, "schedulers": summarise(found)}
    if out:
        _write(found, out, document)
    if json:
        output.print_json(document)
        return
    _print(found, labels, load, no_meter)
    if out:
        typer.echo(f"wrote {out}")


def _write(found: Sequence[Validation], out: Path, document: dict[str, Any]) -> None:
    from hybrid_scheduler.files import new_directory
    from hybrid_scheduler.reports.figures.comparisons import plot_validation
    from hybrid_scheduler.reports.style import save_figure
    from hybrid_scheduler.studies.results import describe_environment, to_csv, to_json

    with new_directory(out) as folder:
        header = ("seed", "scheduler", "task_id", "simulated_finish", "measured_finish")
        rows = list[tuple[Any, ...]]()
        for each in found:
            columns = (each.measured.tasks.task_id, each.simulated.finish, each.measured.finish)
            figures = zip(*(column.tolist() for column in columns), strict=True)
            rows += ((each.seed, each.scheduler, *row) for row in figures)
        (folder / CSV).write_text(to_csv(header, rows), encoding="utf-8")
        summary = to_json({**document, "environment": describe_environment()})
        (folder / SUMMARY).write_text(summary, encoding="utf-8")
        save_figure(plot_validation(found, document["devices"]), folder / PNG)


def _print(found: Sequence[Validation], labels: str, load: str, no_meter: str) -> None:
    from hybrid_scheduler.runtime.validation import summarise

    seeds = output.count(len({each.seed for each in found}), "seed")
    output.print_lines([f"{len(found[0].measured):,} tasks, {seeds}; devices: {labels}", load])
    table = output.table("scheduler", "simulated", "measured", "error", "worst", "turnaround", "per task", "p90")
    for row in summarise(found):
        figures = {name: value for name, value in row.items() if isinstance(value, float)}
        table.add_row(
            str(row["scheduler"])[:LONGEST_NAME],
            output.quantity(figures["simulated_makespan"], "s"),
            output.quantity(figures["measured_makespan"], "s"),
            *(f"{figures[name]:+.1%}" for name in ("makespan_error", "worst_makespan_error", "turnaround_error")),
            *(f"{figures[name]:.1%}" for name in ("median_task_error", "p90_task_error")),
        )
    output.console().print(table)
    energy = [each.energy_error for each in found if each.joules]
    lines = [
        *(f"{row['scheduler']}: {row['runs']:g} runs, error {_describe_range(row)}" for row in summarise(found)),
        "error: simulated / measured makespan - 1, median and worst run; turnaround likewise;",
        "per task: calibrated against measured seconds where it ran, median and p90",
        f"energy {sum(energy) / len(energy):+.1%}" if energy else f"energy was not measured: {no_meter}",
    ]
    output.print_lines(lines)


def _describe_range(row: dict[str, float | str]) -> str:
    least, most = (float(row[name]) for name in ("least_makespan_error", "most_makespan_error"))
    if float(row["runs"]) < MIN_RUNS:
        return f"from {least:+.1%} to {most:+.1%}"
    within = "within" if least <= 0.0 <= most else "beyond"
    return f"from {least:+.1%} to {most:+.1%}, {within} the noise"
