"""`hms experiment`: run one of the prepared experiments and keep its table and picture."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.cli import options, output

if TYPE_CHECKING:
    from hybrid_scheduler.studies.experiments import Study


def experiment(
    name: Annotated[
        str,
        typer.Argument(
            help="accuracy, isolated, shift, heavy, load, pareto or learning; with --data kernels or cholesky."
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A new folder for the table, its manifest and the picture.")
    ],
    seeds: options.Seeds = "10",
    cluster: options.ClusterFile = None,
    gpus: options.Gpus = None,
    data: Annotated[
        Path | None, typer.Option(envvar="HMS_DATA", help="Folder with files of others, for kernels and cholesky.")
    ] = None,
) -> None:
    """Run an experiment over several seeds; writes NAME.csv, NAME.png and a manifest, prints the means."""
    from hybrid_scheduler.files import new_directory, require_new
    from hybrid_scheduler.reports.figures.study import plot_all_measures
    from hybrid_scheduler.reports.style import save_figure
    from hybrid_scheduler.studies import experiments, results

    machine, numbers = options.cluster_of(cluster, gpus), options.seeds_of(seeds)
    require_new(out)
    with output.progress(name, quiet=False) as progress:
        if name in experiments.MEASURED:
            study = experiments.run_measured(name, numbers, data, progress)
        else:
            study = experiments.run(name, numbers, machine, progress)
    where = experiments.PLACES.get(name, machine.describe())
    with new_directory(out) as folder:
        results.write(study, folder, where, numbers, ["hms", *sys.argv[1:]])
        save_figure(plot_all_measures(study), folder / f"{name}.png")
    seeded = f"{len(numbers)} seed{'s' if len(numbers) > 1 else ''}"
    typer.echo(f"{name} on {where}, {seeded}, simulated; means with 95 % intervals")
    _print(study)
    typer.echo(f"wrote {out / name}.csv and .png")


def _print(study: Study) -> None:
    for measure in study.measures:
        table = output.table(measure.replace("_", " "), study.x_name, "mean", "95 % interval")
        for series in study.series:
            for x, each in study.points(series, measure).items():
                table.add_row(series, str(x), f"{each.mean:.4g}", f"[{each.low:.4g}, {each.high:.4g}]")
        output.console().print(table)
