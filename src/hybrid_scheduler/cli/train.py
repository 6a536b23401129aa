"""`hms train`: train a learning policy on presets and save the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output

if TYPE_CHECKING:
    from hybrid_scheduler.schedulers.scheduler import Scheduler


def train(
    scheduler: Annotated[str, typer.Argument(help="hybrid_ml or rl_agent, with options as in compare.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write, with a manifest beside it.")],
    presets: Annotated[str, typer.Option("--presets", help="Presets, comma-separated.")] = "mixed,long_tail",
    tasks: Annotated[int, typer.Option("--tasks", "-n", help="Tasks of each preset.")] = 10_000,
    load: Annotated[float, typer.Option("--load", help="Offered load of the training tasks.")] = 2.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the training tasks and of the learner.")] = 1000,
    curve: Annotated[Path | None, typer.Option("--curve", help="Write an agent's learning curve: CSV, PNG.")] = None,
    tensorboard: Annotated[
        Path | None, typer.Option("--tensorboard", help="Write it as TensorBoard events to this folder.")
    ] = None,
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
) -> None:
    """Train a policy that learns and write its model, for compare -s NAME:model=FILE."""
    from hybrid_scheduler.studies import pretraining

    machine = options.build_cluster(cluster, gpus)
    names = [name.strip() for name in presets.split(",") if name.strip()]
    with output.progress("training", quiet=False) as progress:
        policy = pretraining.pretrain_on_presets(scheduler, names, tasks, load, seed, machine, progress)
    policy.save(out)
    _save_curve(policy, curve, tensorboard)
    typer.echo(f"wrote {out} and {out}.json: {scheduler} after {len(names) * tasks:,} tasks on {machine.describe()}")


def _save_curve(policy: Scheduler, curve: Path | None, tensorboard: Path | None) -> None:
    if curve is None and tensorboard is None:
        return
    from hybrid_scheduler.errors import InputError
    from hybrid_scheduler.files import atomic_write
    from hybrid_scheduler.reports.figures.learning import curve_to_csv, plot_learning_curve, write_tensorboard
    from hybrid_scheduler.reports.style import save_figure

    points = list(getattr(policy, "curve", ()))
    if not points:
        raise InputError(f"scheduler '{policy.name}' has no learning curve: only rl_agent has one")
    if curve is not None:
        with atomic_write(curve.with_suffix(".csv")) as scratch:
            scratch.write_text(curve_to_csv(points), encoding="utf-8")
        save_figure(plot_learning_curve(points), curve.with_suffix(".png"))
        typer.echo(f"wrote {curve.with_suffix('.csv')} and .png")
    if tensorboard is not None:
        write_tensorboard(points, tensorboard)
        typer.echo(f"wrote events: tensorboard --logdir {tensorboard}")
