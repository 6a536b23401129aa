"""Runs the missing commands: one folder per command and seed, so that an interrupted run can be continued."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

from docs.results.plan import DATA, Run
from hybrid_scheduler import __version__
from hybrid_scheduler.cli.main import app
from hybrid_scheduler.studies.results import read_manifest

ROOT = Path(__file__).parents[2]
RUNS = Path("runs/results")  # below the root of the repository, ignored by git
Log = Callable[[str], None]


def seed_folder(run: Run, seed: int, root: Path = RUNS) -> Path:
    """Return where a command writes the results of a seed with this version."""
    return root / __version__ / run.name / f"seed-{seed}"


def run_missing(runs: Iterable[Run], seeds: int, log: Log, root: Path = RUNS) -> None:
    """Run every command on every seed that has no folder yet; seed by seed, so that all commands get equally far."""
    possible = [run for run in runs if _check_data(run, log)]
    for seed in range(seeds):
        for run in possible:
            if seed < run.seeds and not has_run(run, seed, root):
                start = time.perf_counter()
                run_seed(run, seed, root)
                log(f"{run.name}, seed {seed}: {time.perf_counter() - start:.1f} s")


def data_folder() -> Path:
    """Return where the third-party files are."""
    return Path(os.environ.get("HMS_DATA") or ROOT.parent / "shared" / "data")


def _check_data(run: Run, log: Log) -> bool:
    has_data = not run.needs_data or data_folder().is_dir()
    if not has_data:
        log(f"{run.name}: left out, there is no folder of data; HMS_DATA says where it is")
    return has_data


def has_run(run: Run, seed: int, root: Path = RUNS) -> bool:
    """Whether the folder of a seed holds the results of this command; those of another command are refused."""
    folder = seed_folder(run, seed, root)
    if not folder.exists():  # folders appear whole or not at all
        return False
    words = read_manifest(folder)["command"]
    if words != _command(run, seed, folder):
        sys.exit(f"{folder} was made by another command ({' '.join(words)}): move it away first")
    return True


def run_seed(run: Run, seed: int, root: Path = RUNS) -> None:
    """Run one command on one seed in this process: loading the package takes longer than many of the runs."""
    words = _command(run, seed, seed_folder(run, seed, root))
    with _set_argv(words), redirect_stdout(StringIO()):
        app(words[1:], standalone_mode=False)


def _command(run: Run, seed: int, folder: Path) -> list[str]:
    """Return the arguments with the folder of data, which the page leaves open."""
    data = f"{data_folder().as_posix()}/"
    return [word.replace(DATA, data) for word in run.command(f"{seed},", folder.as_posix())]


@contextmanager
def _set_argv(words: list[str]) -> Iterator[None]:
    """Set the arguments of the process, from which hms takes the command for its manifest."""
    before = sys.argv
    sys.argv = words
    try:
        yield
    finally:
        sys.argv = before
