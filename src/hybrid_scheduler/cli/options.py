"""Options that several commands share, and the parsers of their values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from hybrid_scheduler.core.cluster import Cluster
    from hybrid_scheduler.workloads.source import Source

Workload = Annotated[
    str,
    typer.Argument(
        help="A preset (mixed, long_tail, pareto, gpu_friendly, cpu_friendly, bursty, heavy, layered, fork_join, "
        "cholesky), a file that hms import can read, or cholesky@FOLDER:MACHINE:TILES (lu, qr) with StarPU's times."
    ),
]
Schedulers = Annotated[
    str,
    typer.Option(
        "--schedulers",
        "-s",
        help="Names, comma-separated; name:option=value sets an option, file.py:Name is your policy, 'all' is all.",
    ),
]
Tasks = Annotated[
    int | None, typer.Option("--tasks", "-n", help="How many tasks; the preset's own number if absent.")
]
Rate = Annotated[float | None, typer.Option("--rate", help="Arrivals per second.")]
Load = Annotated[float | None, typer.Option("--load", help="Offered load; 1 saturates the cluster.")]
Seeds = Annotated[str, typer.Option("--seeds", help="How many seeds (10), or a list such as 3,7,9.")]
ClusterFile = Annotated[Path | None, typer.Option("--cluster", help="A YAML file with nodes and device classes.")]
Gpus = Annotated[int | None, typer.Option("--gpus", help="Number of GPUs beside one CPU, without a cluster file.")]
ProfileFile = Annotated[
    Path | None, typer.Option("--profile", help="Simulate the machine that hms profile -o FILE measured.")
]
Noise = Annotated[
    str,
    typer.Option(
        "--noise",
        help="Let times differ from estimates: a coefficient of variation (0.2), starpu:FOLDER, or a CSV of ratios.",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Keep the results in this new folder.")]
Backend = Annotated[str, typer.Option("--backend", help="local (processes) or ray (actors).")]
Address = Annotated[str | None, typer.Option("--address", help="Of a Ray cluster; a local one if absent.")]
Scale = Annotated[float, typer.Option("--scale", help="Edge of a kernel's arrays per unit of size.")]
FewSeeds = Annotated[str, typer.Option("--seeds", help="How many seeds (1), or a list such as 3,7.")]
Processes = Annotated[
    int | None, typer.Option("--processes", "-p", help="Number of processes; one per core if absent.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def parse_seeds(text: str) -> tuple[int, ...]:
    """Parse '10' as seeds 0 … 9 and '3,7' as seeds 3 and 7."""
    try:
        numbers = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        numbers = ()
    seeds = numbers if "," in text else tuple(range(numbers[0])) if numbers else ()
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise InputError(f"--seeds is '{text}', expected a number of seeds above 0, or different ones such as 3,7,9")
    return seeds


def parse_schedulers(text: str) -> tuple[str, ...]:
    """Parse comma-separated names; empty means the featured schedulers, 'all' means all."""
    from hybrid_scheduler import registry

    if text == "all":
        return tuple(registry.schedulers.table)
    return tuple(part.strip() for part in text.split(",") if part.strip()) or tuple(registry.schedulers.featured)


def build_cluster(
    path: Path | None, gpus: int | None, profile: Path | None = None, source: Source | None = None
) -> Cluster:
    """Return the cluster of a file, of a profile or of the tasks themselves, else one CPU with `gpus` GPUs."""
    from hybrid_scheduler.core.cluster import Cluster

    if path is not None and gpus is not None:
        raise InputError("both --cluster and --gpus were given: give one of them")
    if path is not None and profile is not None:
        raise InputError("both --cluster and --profile were given: give one of them")
    if path is not None:
        return Cluster.from_yaml(path)
    if gpus is not None and gpus < 0:
        raise InputError(f"--gpus is {gpus}, expected 0 or more")
    if profile is not None:
        from hybrid_scheduler.profiling import calibration
        from hybrid_scheduler.profiling.profile_file import load_profile

        return calibration.build_cluster(load_profile(profile), gpus)
    own = source.cluster() if source and gpus is None else None
    return own or Cluster.default(4 if gpus is None else gpus)
