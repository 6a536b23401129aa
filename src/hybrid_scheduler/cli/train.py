"""`hms train`: train a learning policy on presets and save the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import InputError


def train(
    scheduler: Annotated[str, typer.Argument(help="A learner such as hybrid_ml, with options as in compare.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The model file to write, with a manifest beside it.")],
    presets: Annotated[str, typer.Option("--presets", help="Presets, comma-separated.")] = "mixed,long_tail",
    tasks: Annotated[int, typer.Option("--tasks", "-n", help="Tasks of each preset.")] = 10_000,
    load: Annotated[float, typer.Option("--load", help="Offered load of the training tasks.")] = 2.0,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the training tasks and of the learner.")] = 1000,
    curve: Annotated[Path | None, typer.Option("--curve", help="Write an agent's learning curve: CSV, PNG.")] = None,
    tensorboard: Annotated[
        Path | None, typer.Option("--tensorboard", help="Write it as TensorBoard events to this folder.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", help="Kept after every round of attention_agent; it goes on there.")
    ] = None,
    from_database: Annotated[
        bool, typer.Option("--from-database", help="Train on what hms serve has stored; kept only if it is better.")
    ] = False,
    database: Annotated[
        str | None, typer.Option("--database", help="sqlite:///file or postgresql://…; that of hms serve if absent.")
    ] = None,
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
) -> None:
    """Train a policy that learns and write its model, for compare -s NAME:model=FILE.

    attention_agent is trained on random clusters and workloads of its own, for all clusters, or with --cluster or
    --gpus for that one; beside those only the seed counts.
    """
    if from_database or database:
        _train_from_database(scheduler, out, database, seed)
        return
    from hybrid_scheduler import registry
    from hybrid_scheduler.files import atomic_write
    from hybrid_scheduler.registry import split_spec
    from hybrid_scheduler.reports.figures.learning import curve_to_csv, plot_learning_curve, write_tensorboard
    from hybrid_scheduler.reports.style import save_figure
    from hybrid_scheduler.studies import pretraining

    machine = options.build_cluster(cluster, gpus)
    names = [name.strip() for name in presets.split(",") if name.strip()]
    anywhere = getattr(registry.schedulers.load(split_spec(scheduler)[0]), "trains_on_clusters", False)
    if checkpoint is not None and not anywhere:
        raise InputError(f"'{scheduler}' has no checkpoints: its training takes seconds, leave --checkpoint out")
    own = None if cluster is None and gpus is None else machine
    with output.progress("training", quiet=False) as progress:
        if anywhere:
            policy = pretraining.train_on_clusters(scheduler, seed, checkpoint, progress, own)
        else:
            policy = pretraining.pretrain_on_presets(scheduler, names, tasks, load, seed, machine, progress)
    policy.save(out)
    points = list(getattr(policy, "curve", ()))
    if (curve or tensorboard) and not points:
        raise InputError(f"scheduler '{policy.name}' has no learning curve: rl_agent and attention_agent have one")
    if curve is not None:
        with atomic_write(curve.with_suffix(".csv")) as scratch:
            scratch.write_text(curve_to_csv(points), encoding="utf-8")
        save_figure(plot_learning_curve(points), curve.with_suffix(".png"))
        typer.echo(f"wrote {curve.with_suffix('.csv')} and .png")
    if tensorboard is not None:
        weights = getattr(policy, "weights", {})
        write_tensorboard(points, tensorboard, weights if isinstance(weights, dict) else weights._asdict())
        typer.echo(f"wrote events: tensorboard --logdir {tensorboard}")
    lessons = "" if anywhere else f"{len(names) * tasks:,} tasks on "
    where = "random clusters" if anywhere and own is None else f"{lessons}{machine.describe()}"
    typer.echo(f"wrote {out} and {out}.json: {scheduler} after {where}")


def _train_from_database(scheduler: str, out: Path, database: str | None, seed: int) -> None:
    """Fit hybrid_ml's model of GPU shares to stored rows; it takes the place of the file only if it is better."""
    import asyncio

    from hybrid_scheduler.registry import split_spec
    from hybrid_scheduler.settings import load_settings
    from hybrid_scheduler.storage.store import Store
    from hybrid_scheduler.studies.offline_training import save_offer, train_offer

    name, given = split_spec(scheduler)
    chosen = dict(each.split("=", 1) for each in given)
    if name != "hybrid_ml" or set(chosen) - {"model_type"}:
        raise InputError(f"'{scheduler}' cannot be trained from a database: hybrid_ml can, with model_type at most")

    async def read() -> list[dict[str, Any]]:
        store = await Store.open(database or load_settings().database)
        try:
            return await store.training_data(100_000)
        finally:
            await store.close()

    offer = train_offer(asyncio.run(read()), out, chosen.get("model_type", "random_forest"), seed)
    if offer.is_better:
        save_offer(offer, out)
    typer.echo(f"{'wrote' if offer.is_better else 'kept'} {out}: fitted to {offer.fitted:,} rows, {offer.describe()}")
