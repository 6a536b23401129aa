"""`hms generate`: generate a workload and write it as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output


def generate(
    preset: Annotated[
        str,
        typer.Argument(
            help="mixed, long_tail, pareto, gpu_friendly, cpu_friendly, bursty, heavy, layered, fork_join, "
            "cholesky, or cholesky@FOLDER:MACHINE:TILES[:TILE_SIZE] (lu, qr) with kernel times of StarPU; mixed if "
            "absent."
        ),
    ] = "",
    out: Annotated[Path, typer.Option("--out", "-o", help="The CSV file to write.")] = Path("tasks.csv"),
    tasks: options.Tasks = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same tasks.")] = 42,
    load: options.Load = None,
    rate: options.Rate = None,
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
) -> None:
    """Generate tasks and write them to a CSV file."""
    from hybrid_scheduler.workloads import WorkloadGenerator
    from hybrid_scheduler.workloads.factorisations import FactorisationSpec
    from hybrid_scheduler.workloads.source import Source

    preset = options.choose_workload(preset)
    load = options.choose_load(preset, load, rate)
    generator = WorkloadGenerator(seed)
    spec = FactorisationSpec.parse(preset)
    if spec:
        source = Source.of(preset, tasks, rate, load)
        generator.tasks = source.tasks(seed, options.build_cluster(cluster, gpus, source=source))
    else:
        generator.generate_preset(preset, tasks, rate=rate, load=load, cluster=options.build_cluster(cluster, gpus))
    generator.save_workload(out)
    figures = generator.get_statistics()
    typer.echo(
        f"wrote {out}: {figures['num_tasks']:,} tasks, mean size {figures['avg_size']:.0f}, "
        f"mean intensity {figures['avg_intensity']:.2f}, "
        f"mean base duration {output.quantity(figures['avg_duration'], 's')}, "
        f"last arrival {output.quantity(figures['total_duration'], 's')}, "
        f"{figures['num_dependencies']:,} dependencies"
    )
    if spec and (assumed := spec.build().assumed):
        typer.echo(f"assumed: {assumed}")
