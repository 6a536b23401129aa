"""`hms simulate`: what other policies would have made of the very tasks that ran."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output

MOST_LABELS = 4
"""Devices that the first line names."""


def simulate(
    run: Annotated[Path, typer.Argument(help="A run kept by HybridScheduler.save_run.")],
    schedulers: options.Schedulers = "",
    seed: Annotated[int, typer.Option("--seed", help="Seed of policies that draw.")] = 0,
    json: options.Json = False,
) -> None:
    """Simulate a kept run with other policies; print the certified bound and what the best would have saved."""
    from hybrid_scheduler.core.compiler import core_count
    from hybrid_scheduler.runtime.kept_runs import simulate_kept_run
    from hybrid_scheduler.runtime.record import load_run, summarise_run

    kept, names = load_run(run), options.parse_schedulers(schedulers)
    output.pretrain_missing(names, kept.cluster, "queued", quiet=json)
    with output.progress("simulating", quiet=json) as step:
        (bound, proved), placed = simulate_kept_run(kept, names, seed, core_count(), step)
    rows = summarise_run(kept, placed, bound)
    best = rows[0]
    if json:
        ran = {"policy": kept.policy, "makespan": kept.makespan, "devices": kept.labels}
        output.print_json({"run": ran, "bound": bound, "verified": proved, "schedulers": rows})
        return
    count, took = output.count(len(kept.tasks), "task"), output.quantity(kept.makespan, "s")
    labels = kept.labels if len(kept.labels) <= MOST_LABELS else (*kept.labels[: MOST_LABELS - 1], "…")
    typer.echo(f"{count} on {', '.join(labels)}: {kept.policy} took {took} (measured)")
    checked = "checked independently" if proved else "NOT verified, please report this"
    typer.echo(f"no schedule of these times ends before {output.quantity(bound, 's')}, {checked}")
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
    if kept.policy in placed:  # measured seconds are also those of sending calls and of waiting for cores
        own = float(placed[kept.policy].makespan)
        lead = 1.0 - best["makespan"] / own
        against = f"{best['scheduler']} saves {lead:.1%} of that" if lead > 0.0 else "no other is shorter"
        typer.echo(f"{kept.policy} itself takes {output.quantity(own, 's')} in the simulation: {against}")
    if split := sorted(
        name for name, each in placed.items() if ((each.gpu_fraction > 0) & (each.gpu_fraction < 1)).any()
    ):
        typer.echo(f"these split tasks, which yours may not allow: {', '.join(split)}")
