"""`hms capacity`: the highest arrival rate that each policy sustains."""

from __future__ import annotations

from pathlib import Path

import typer

from hybrid_scheduler.cli import options, output


def capacity(
    workload: options.Workload = "",
    schedulers: options.Schedulers = "",
    tasks: options.Tasks = None,
    seeds: options.Seeds = "3",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Find the highest arrival rate at which each policy's queue stays stable."""
    from hybrid_scheduler.files import new_directory, require_new
    from hybrid_scheduler.studies.capacity import NUM_TASKS, STABLE_GROWTH, find_capacity
    from hybrid_scheduler.studies.experiments import ExperimentResult
    from hybrid_scheduler.studies.results import save_experiment
    from hybrid_scheduler.workloads.source import Source

    machine, numbers = options.build_cluster(cluster, gpus), options.parse_seeds(seeds)
    workload = options.choose_workload(workload)
    source = Source.of(workload, tasks, None, None)
    source = source if source.is_file or tasks is not None else Source.of(workload, NUM_TASKS)
    specs = options.parse_schedulers(schedulers)
    if out:
        require_new(out)
    source.tasks(numbers[0], machine)  # refuse bad tasks before any training
    output.pretrain_missing(specs, machine, "queued", quiet=json)
    found = {}
    with output.progress("searching", quiet=json) as progress:
        for number, spec in enumerate(specs):
            progress(number, len(specs))
            found[spec] = find_capacity(source, spec, machine, numbers)
    if out:
        experiment = ExperimentResult("capacity", "workload", ("capacity", "load"))
        for spec, each in found.items():
            for seed, rate, load in zip(numbers, each.rates, each.loads, strict=True):
                experiment.add(spec, Path(source.name).name, seed, capacity=rate, load=load)
        with new_directory(out) as folder:
            save_experiment(experiment, folder, machine, numbers, output.command_line())
    if json:
        rows = {
            spec: {
                "capacity": each.rate.mean,
                "intervals": {"capacity": [each.rate.low, each.rate.high]},
                "load": each.load.mean,
            }
            for spec, each in found.items()
        }
        output.print_json({"workload": {"source": source.name}, "seeds": list(numbers), "schedulers": rows})
        return
    seeds = output.count(len(numbers), "seed")
    output.print_lines([f"{source.name} on {machine.describe()}, {seeds}, simulated"])
    table = output.table("scheduler", "tasks/s", "95 % interval", "of the optimum")
    for spec, each in sorted(found.items(), key=lambda item: -item[1].rate.mean):
        interval = f"[{each.rate.low:.1f}, {each.rate.high:.1f}]"
        table.add_row(spec, f"{each.rate.mean:.1f}", interval, f"{each.load.mean:.1%}")
    output.console().print(table)
    output.console().print(
        f"stable: the backlog grows by less than {STABLE_GROWTH:g} s per second; the optimum is offered load 1"
    )
    if out:
        typer.echo(f"wrote {out}")
