"""`hms serve`: the live simulation with its API and page."""

from __future__ import annotations

from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output


def serve(
    host: Annotated[str | None, typer.Option("--host", help="Address to listen on; 127.0.0.1 if absent.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port; 8000 if absent, 0 takes a free one.")] = None,
    database: Annotated[
        str | None, typer.Option("--database", help="sqlite:///file or postgresql://user:password@host/name.")
    ] = None,
    schedulers: Annotated[str | None, typer.Option("--schedulers", "-s", help="Names, comma-separated.")] = None,
    backend: Annotated[
        str | None,
        typer.Option("--backend", help=f"Run every task for real: {options.BACKENDS}; simulated if absent."),
    ] = None,
    devices: Annotated[
        str | None,
        typer.Option("--devices", help="Devices of a backend: auto, emulated, or a list such as cpu,cuda:0."),
    ] = None,
    preset: Annotated[str | None, typer.Option("--preset", help="Workload preset.")] = None,
    load: options.Load = None,
    pace: Annotated[float | None, typer.Option("--pace", help="Tasks per second of wall time.")] = None,
    gpus: options.Gpus = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of workload and policies.")] = None,
    start: Annotated[bool, typer.Option("--start/--no-start", help="Start the simulation at once.")] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the newest interrupted run.")] = False,
) -> None:
    """Serve the live simulation: a page to watch it, REST to control it, everything stored.

    Whatever is not given comes from the environment, .env or config.yaml.
    """
    from hybrid_scheduler.learning.background import start_trainers_ahead
    from hybrid_scheduler.settings import load_settings

    settings = load_settings(
        host=host,
        port=port,
        database_url=database,
        schedulers=schedulers,
        backend=backend,
        devices=devices,
        preset=preset,
        load=load,
        pace=pace,
        num_gpus=gpus,
        seed=seed,
        autostart=None if start else False,
        resume=resume or None,
    )
    if database and "@" in database:
        typer.echo("hms: --database is visible in the process list: set DATABASE_URL instead", err=True)
    if settings.autostart and settings.role == "all":
        live = settings.live_settings()
        start_trainers_ahead(live.schedulers)
        if live.is_measured:  # a simulated race begins at once, and learners join it when they are trained
            output.pretrain_missing(live.schedulers, live.cluster, "queued", quiet=False)
    from hybrid_scheduler.server.serve import serve as run

    run(settings, lambda address: typer.echo(f"watch it at {address}"))
