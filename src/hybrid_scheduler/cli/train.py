"""`hms train`: train a learning policy on presets and keep the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, show


def train(
    scheduler: Annotated[str, typer.Argument(help="hybrid_ml or rl_agent, with options as in compare.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write; its manifest stands beside it.")],
    presets: Annotated[str, typer.Option("--presets", help="What to train on, with commas.")] = "mixed,long_tail",
    tasks: Annotated[int, typer.Option("--tasks", "-n", help="Tasks of each preset.")] = 10_000,
    load: Annotated[float, typer.Option("--load", help="Offered load of the lessons.")] = 2.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the lessons and of the learner.")] = 1000,
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
) -> None:
    """Train a policy that learns and write its model, for compare -s NAME:model=FILE."""
    from hybrid_scheduler import training

    machine = options.cluster_of(cluster, gpus)
    names = [name.strip() for name in presets.split(",") if name.strip()]
    with show.progress("training", quiet=False) as progress:
        policy = training.trained(scheduler, names, tasks, load, seed, machine, progress)
    policy.save(out)
    typer.echo(f"wrote {out} and {out}.json: {scheduler} after {len(names) * tasks:,} tasks on {machine.describe()}")
