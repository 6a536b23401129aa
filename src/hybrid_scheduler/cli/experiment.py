"""`hms experiment`: run a prepared experiment and keep its table and figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hybrid_scheduler.cli import options, output


def experiment(
    name: Annotated[
        str,
        typer.Argument(
            help="accuracy, models, isolated, shift, heavy, load, turnaround, pareto, learning, zero_shot, adversary "
            "or robustness; with --data kernels, cholesky, zero_shot_real or unfamiliar."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A new folder for the table, its manifest and the figure.")
    ],
    seeds: options.Seeds = "10",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    data: Annotated[
        Path | None, typer.Option(envvar="HMS_DATA", help="Folder with third-party data, for those that need it.")
    ] = None,
) -> None:
    """Run an experiment over several seeds; writes NAME.csv, NAME.png and a manifest, prints the means."""
    from hybrid_scheduler.files import new_directory, require_new
    from hybrid_scheduler.reports.figures.experiments import plot_all_measures
    from hybrid_scheduler.reports.style import save_figure
    from hybrid_scheduler.studies import experiments, results

    machine, numbers = options.build_cluster(cluster, gpus), options.parse_seeds(seeds)
    require_new(out)
    with output.progress(name, quiet=False) as progress:
        result = experiments.run_experiment(name, numbers, machine, progress, data)
    where = experiments.DATA_CLUSTERS.get(name, machine.describe())
    with new_directory(out) as folder:
        results.save_experiment(result, folder, where, numbers, output.command_line())
        save_figure(plot_all_measures(result), folder / f"{name}.png")
    typer.echo(f"{name} on {where}, {output.count(len(numbers), 'seed')}, simulated; means with 95 % intervals")
    for measure in result.measures:
        table = output.table(measure.replace("_", " "), result.x_name, "mean", "95 % interval")
        for series in result.series:
            for x, each in result.points(series, measure).items():
                table.add_row(series, str(x), f"{each.mean:.4g}", f"[{each.low:.4g}, {each.high:.4g}]")
        output.console().print(table)
    typer.echo(f"wrote {out / name}.csv and .png")
