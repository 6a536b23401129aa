"""`hms capacity`: the highest arrival rate that each policy sustains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from hybrid_scheduler.cli import options, show

if TYPE_CHECKING:
    from rich.table import Table

    from hybrid_scheduler.capacity import Capacity


def capacity(
    workload: options.Workload = "mixed",
    schedulers: options.Schedulers = "",
    tasks: options.Tasks = None,
    seeds: options.Seeds = "3",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    json: options.Json = False,
) -> None:
    """Find the highest arrival rate at which each policy's queue stays stable."""
    from hybrid_scheduler.capacity import NUM_TASKS, STABLE_GROWTH
    from hybrid_scheduler.capacity import capacity as find
    from hybrid_scheduler.runs import to_json
    from hybrid_scheduler.workload.source import Source

    machine, numbers = options.cluster_of(cluster, gpus), options.seeds_of(seeds)
    source = Source.of(workload, tasks, None, None)
    source = source if source.is_file or tasks is not None else Source.of(workload, NUM_TASKS)
    specs = options.schedulers_of(schedulers)
    found = {}
    show.give_lessons(specs, machine, "queued", quiet=json)
    with show.progress("searching", quiet=json) as progress:
        for number, spec in enumerate(specs):
            progress(number, len(specs))
            found[spec] = find(source, spec, machine, numbers)
    if json:
        typer.echo(to_json(_document(source.name, numbers, found)), nl=False)
        return
    seeded = f"{len(numbers)} seed{'s' if len(numbers) > 1 else ''}"
    console = show.console()
    console.print(f"{source.name} on {machine.describe()}, {seeded}, simulated", soft_wrap=True, markup=False)
    console.print(_table(found))
    console.print(
        f"stable: the backlog grows by less than {STABLE_GROWTH:g} s per second; the optimum is offered load 1"
    )


def _document(source: str, seeds: tuple[int, ...], found: dict[str, Capacity]) -> dict[str, Any]:
    rows = {
        spec: {
            "capacity": each.rate.mean,
            "intervals": {"capacity": [each.rate.low, each.rate.high]},
            "load": each.load.mean,
        }
        for spec, each in found.items()
    }
    return {"workload": {"source": source}, "seeds": list(seeds), "schedulers": rows}


def _table(found: dict[str, Capacity]) -> Table:
    table = show.table("scheduler", "tasks/s", "95 % interval", "of the optimum")
    for spec, each in sorted(found.items(), key=lambda item: -item[1].rate.mean):
        interval = f"[{each.rate.low:.1f}, {each.rate.high:.1f}]"
        table.add_row(spec, f"{each.rate.mean:.1f}", interval, f"{each.load.mean:.1%}")
    return table
