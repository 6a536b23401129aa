"""`hms adversary`: search small workloads on which one policy does worst against another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output


def adversary(
    victim: Annotated[str, typer.Argument(help="The policy that shall do badly, with options as in compare.")],
    rival: Annotated[str, typer.Argument(help="The policy that it is set against.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The CSV file of tasks to write.")],
    tasks: Annotated[int, typer.Option("--tasks", "-n", help="Tasks of the workload.")] = 12,
    steps: Annotated[int, typer.Option("--steps", help="Steps of simulated annealing.")] = 400,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the search and of both policies.")] = 0,
    measure: Annotated[str, typer.Option("--measure", help="turnaround (its mean) or makespan.")] = "turnaround",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
) -> None:
    """Search tasks on which a policy does as badly as possible against another; hms compare reads the file."""
    from hybrid_scheduler.studies.adversary import find_worst_case
    from hybrid_scheduler.workloads.formats import csv

    machine = options.build_cluster(cluster, gpus)
    with output.progress("searching", quiet=False) as progress:
        found = find_worst_case(
            victim, rival, machine, tasks=tasks, steps=steps, seed=seed, measure=measure, progress=progress
        )
    csv.write(found.tasks, out)
    seconds = f"{found.victim:.4g} s against {found.rival:.4g} s"
    typer.echo(f"{measure} of {victim} is {found.ratio:.3g} × that of {rival}: {seconds}")
    typer.echo(f"wrote {out}: hms compare {out} -s {victim},{rival} --seeds {seed}..{seed}")
