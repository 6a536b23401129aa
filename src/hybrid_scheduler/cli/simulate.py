"""`hms simulate`: what other policies would have made of the very tasks that ran."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output


def simulate(
    run: Annotated[Path, typer.Argument(help="A run kept by HybridScheduler.save_run.")],
    schedulers: options.Schedulers = "",
    seed: Annotated[int, typer.Option("--seed", help="Seed of policies that draw.")] = 0,
    json: options.Json = False,
) -> None:
    """Simulate a kept run with other policies; print the certified bound and what the best would have saved."""
    from hybrid_scheduler.bounds.makespan import lower_bound, verify_bound
    from hybrid_scheduler.core.simulator import VirtualMultiGPU
    from hybrid_scheduler.runtime.record import load_run, summarise_run
    from hybrid_scheduler.studies.pretraining import load_or_train

    kept, names = load_run(run), options.parse_schedulers(schedulers)
    output.pretrain_missing(names, kept.cluster, "queued", quiet=json)
    bound = lower_bound(kept.tasks, kept.cluster)
    proved = verify_bound(bound, kept.tasks, kept.cluster)
    placed = {}
    with output.progress("simulating", quiet=json) as step:
        for number, name in enumerate(names):
            machine = VirtualMultiGPU(cluster=kept.cluster)
            placed[name] = machine.run(kept.tasks, load_or_train(name, kept.cluster, seed))
            step(number + 1, len(names))
    rows = summarise_run(kept, placed, bound.makespan)
    best = rows[0]
    if json:
        ran = {"policy": kept.policy, "makespan": kept.makespan, "devices": kept.labels}
        output.print_json({"run": ran, "bound": bound.makespan, "verified": proved, "schedulers": rows})
        return
    count, took = output.count(len(kept.tasks), "task"), output.quantity(kept.makespan, "s")
    typer.echo(f"{count} on {', '.join(kept.labels)}: {kept.policy} took {took} (measured)")
    checked = "checked independently" if proved else "NOT verified, please report this"
    typer.echo(f"no schedule of these times ends before {output.quantity(bound.makespan, 's')}, {checked}")
    table = output.table("simulated", "makespan s", "/ bound", "turnaround s", "saves")
    for row in rows:
        table.add_row(
            row["scheduler"],
            f"{row['makespan']:.4g}",
            f"{row['over_bound']:.3f}",
            f"{row['turnaround']:.4g}",
            f"{row['saves']:+.1%}",
        )
    output.console().print(table)
    typer.echo(
        f"{best['scheduler']} would have saved {max(best['saves'], 0.0):.1%} of the makespan, if tasks took as long"
    )
    if split := sorted(
        name for name, each in placed.items() if ((each.gpu_fraction > 0) & (each.gpu_fraction < 1)).any()
    ):
        typer.echo(f"these split tasks, which yours may not allow: {', '.join(split)}")
