"""Options that several commands share, and the parsers of their values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hybrid_scheduler import registry
from hybrid_scheduler.errors import InputError

if TYPE_CHECKING:
    from hybrid_scheduler.core.cluster import Cluster
    from hybrid_scheduler.workloads.source import Source

Workload = Annotated[
    str,
    typer.Argument(
        help="A preset (mixed, long_tail, pareto, gpu_friendly, cpu_friendly, bursty, heavy, layered, fork_join, "
        "cholesky), a file that hms import can read, or cholesky@FOLDER:MACHINE:TILES (lu, qr) with StarPU's times; "
        "mixed if absent."
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
Seeds = Annotated[str, typer.Option("--seeds", help="How many seeds (5), a range (0..99), or a list such as 3,7,9.")]
Files = Annotated[
    list[Path], typer.Argument(help="A file and its companions (pods with their list of nodes); gzip and zstd too.")
]
FormatName = Annotated[
    str, typer.Option("--format", help="The format; detected from the file's first bytes if absent.")
]
Database = Annotated[
    str | None, typer.Option("--database", help="sqlite:///file or postgresql://…; the service's own if absent.")
]
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
Assume = Annotated[
    str,
    typer.Option(
        "--assume",
        help="formula: take the model's times on device classes that a file of measured times lacks; else no task "
        "runs there.",
    ),
]
Serialise = Annotated[
    bool,
    typer.Option(
        "--serialise", help="Let one device do all the work of a job that took several processors at once (SWF)."
    ),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Keep the results in this new folder.")]
BACKENDS = " or ".join(f"{each.name} ({each.summary})" for each in registry.backends.entries)
Backend = Annotated[str, typer.Option("--backend", help=f"What runs the tasks: {BACKENDS}.")]
Address = Annotated[str | None, typer.Option("--address", help="Of a Ray cluster; a local one if absent.")]
Scale = Annotated[float, typer.Option("--scale", help="Edge of a kernel's arrays per unit of size.")]
FewSeeds = Annotated[str, typer.Option("--seeds", help="How many seeds (1), a range (0..9), or a list such as 3,7.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="How often each is run: the spread is the noise.")]
Processes = Annotated[
    int | None, typer.Option("--processes", "-p", help="Number of processes; one per core if absent.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
MOST_COUNTED_SEEDS = 100
"""A larger number alone is more likely one seed than so many: it must be written as a range."""
DEFAULT_PRESET = "mixed"
DEFAULT_GPUS = 4
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def parse_seeds(text: str) -> tuple[int, ...]:
    """Parse '10' as seeds 0 … 9, '5..8' as seeds 5 … 8, and '3,7' as seeds 3 and 7."""
    first, dots, last = text.partition("..")
    try:
        numbers = tuple(int(part) for part in ((first, last) if dots else text.split(",")) if part.strip())
    except ValueError:
        numbers = ()
    seeds = numbers
    if dots:
        seeds = tuple(range(numbers[0], numbers[1] + 1)) if len(numbers) == 2 else ()
    elif "," not in text and numbers:
        if numbers[0] > MOST_COUNTED_SEEDS:
            raise InputError(
                f"--seeds {numbers[0]} would run {numbers[0]:,} seeds: write --seeds 0..{numbers[0] - 1} for all of "
                f"them, or --seeds {numbers[0]}, with a comma for that one"
            )
        seeds = tuple(range(numbers[0]))
    if not seeds or min(seeds) < 0 or len(set(seeds)) < len(seeds):
        raise InputError(
            f"--seeds is '{text}', expected a number of seeds above 0, a range such as 0..99, or different ones "
            "such as 3,7,9"
        )
    return seeds


def parse_schedulers(text: str) -> tuple[str, ...]:
    """Parse comma-separated names; empty means those of `config.yaml`, else the featured ones, 'all' means all.

    Those whose extra is not installed are left out, and a line on stderr says so; naming only such is an error.
    """
    given = tuple(registry.split_specs(text)) or configured_schedulers()
    return leave_out_missing(tuple(registry.schedulers.table) if text == "all" else given)


def parse_orders(text: str) -> tuple[str, ...]:
    """Parse policies of shared clusters; 'all' is every order, with EASY backfilling if it has a queue."""
    if text != "all":
        return tuple(part.strip() for part in text.split(",") if part.strip())
    table = registry.job_orders
    return tuple(name if table.create(name).preempts else f"{name}+easy" for name in table.table)


def leave_out_missing(specs: tuple[str, ...]) -> tuple[str, ...]:
    """Return the schedulers that this install can run; a line on stderr names the others."""
    kept = registry.schedulers.leave_out_missing(specs)
    if line := registry.schedulers.describe_missing(specs):
        typer.echo(line, err=True)
    return kept


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
    return own or Cluster.default(configured_gpus() if gpus is None else gpus)


def configured_gpus() -> int:
    """Return the GPUs of `config.yaml` in this folder, 4 if it names none; a line on stderr if they are others."""
    values = _read_config()
    section = values.get("pipeline")
    found = values.get("num_gpus", section.get("gpus") if isinstance(section, dict) else None)
    if found is None:
        return DEFAULT_GPUS
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise InputError(f"config.yaml: num_gpus is {found!r}, expected a whole number, 0 or more")
    if found != DEFAULT_GPUS:
        typer.echo(f"config.yaml of this folder: {found} GPUs (--gpus takes others)", err=True)
    return found


def configured_schedulers() -> tuple[str, ...]:
    """Return the schedulers of `config.yaml` in this folder, the featured ones if it names none; a line says so."""
    found = _read_config().get("schedulers") or ()
    named = registry.split_specs(found) if isinstance(found, str) else found
    if not isinstance(named, list | tuple) or not all(isinstance(each, str) for each in named):
        raise InputError(f"config.yaml: schedulers is {found!r}, expected names such as [eft, greedy]")
    specs = tuple(each.strip() for each in named if each.strip())
    if specs:
        typer.echo(f"config.yaml of this folder: {', '.join(specs)} (--schedulers takes others)", err=True)
    return specs or tuple(registry.schedulers.featured)


def choose_workload(given: str) -> str:
    """Return the workload that was given, else the preset of `config.yaml` in this folder, which a line names."""
    if given:
        return given
    found = _read_config().get("preset", DEFAULT_PRESET)
    if not isinstance(found, str) or not found:
        raise InputError(f"config.yaml: preset is {found!r}, expected a name such as {DEFAULT_PRESET}")
    if found == DEFAULT_PRESET:
        return found
    from hybrid_scheduler.workloads.library import is_upload

    if is_upload(found):
        typer.echo(
            f"config.yaml of this folder: {found} is for the service, {DEFAULT_PRESET} is taken here", err=True
        )
        return DEFAULT_PRESET
    typer.echo(f"config.yaml of this folder: {found} (name another workload to take that)", err=True)
    return found


def choose_load(workload: str, load: float | None, rate: float | None) -> float | None:
    """Return the load that was given, else that of `config.yaml` in this folder for a preset whose tasks arrive."""
    from hybrid_scheduler.workloads.generator import DEFAULT_LOAD, PRESETS

    if load is not None or rate is not None or workload not in PRESETS or PRESETS[workload].graph:
        return load
    found = _read_config().get("load", DEFAULT_LOAD)
    if not isinstance(found, int | float) or isinstance(found, bool) or not found > 0:
        raise InputError(f"config.yaml: load is {found!r}, expected a number above 0")
    if found == DEFAULT_LOAD:
        return None
    typer.echo(f"config.yaml of this folder: load {found:g} (--load and --rate take others)", err=True)
    return float(found)


def _read_config() -> dict[str, Any]:
    """Return what `config.yaml` of this folder holds, nothing if there is none."""
    if not Path("config.yaml").is_file():
        return {}
    from hybrid_scheduler.settings import CONFIG_FILE, read_yaml

    return read_yaml(CONFIG_FILE)
