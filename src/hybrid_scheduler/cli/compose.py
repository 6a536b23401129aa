"""`hms compose`: combine times, arrivals and memory of different files into one workload."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options


def compose(
    times: Annotated[Path | None, typer.Option("--times", help="Measured times come from here.")] = None,
    arrivals: Annotated[Path | None, typer.Option("--arrivals", help="Arrivals come from here.")] = None,
    memory: Annotated[Path | None, typer.Option("--memory", help="Memory comes from here.")] = None,
    tasks: Annotated[int, typer.Option("--tasks", "-n", help="How many tasks.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same tasks.")] = 0,
    load: options.Load = None,
    rate: options.Rate = None,
    cluster: options.ClusterFile = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The .parquet or .csv file to write.")] = Path(
        "tasks.parquet"
    ),
) -> None:
    """Draw tasks whose columns come from different files, and record where each came from."""
    from hybrid_scheduler.core.cluster import Cluster
    from hybrid_scheduler.workloads import composition
    from hybrid_scheduler.workloads.conversion import cluster_path

    composition.require_suffix(out)
    found = composition.compose(
        tasks,
        seed,
        times=times,
        arrivals=arrivals,
        memory=memory,
        cluster=Cluster.from_yaml(cluster) if cluster else None,
        rate=rate,
        load=load,
    )
    composition.write(found, out)
    for line in composition.format_lines(found.to_dict()):
        typer.echo(line)
    typer.echo(f"wrote {out}: {tasks:,} tasks; {composition.sidecar_path(out).name} says where they come from")
    if found.cluster:
        typer.echo(f"wrote {cluster_path(out)}: the machines of the times, which hms compare takes too")
