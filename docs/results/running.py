"""Run what is missing: one folder per command and seed, so that an interrupted evening is not lost."""

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
KEPT = Path("runs/results")  # below the root, ignored by git
Say = Callable[[str], None]


def folder_of(run: Run, seed: int, kept: Path = KEPT) -> Path:
    """Return where a command keeps what it found on a seed with this version."""
    return kept / __version__ / run.name / f"seed-{seed}"


def run_missing(runs: Iterable[Run], seeds: int, say: Say, kept: Path = KEPT) -> None:
    """Run every command on every seed unless its folder is there; seed by seed, so that all commands get as far."""
    chosen = [run for run in runs if _has_data(run, say)]
    for seed in range(seeds):
        for run in chosen:
            if seed < run.seeds and not is_kept(run, seed, kept):
                began = time.perf_counter()
                run_once(run, seed, kept)
                say(f"{run.name}, seed {seed}: {time.perf_counter() - began:.1f} s")


def data_folder() -> Path:
    """Return where the files of others are."""
    return Path(os.environ.get("HMS_DATA") or ROOT.parent / "shared" / "data")


def _has_data(run: Run, say: Say) -> bool:
    here = not run.needs_data or data_folder().is_dir()
    if not here:
        say(f"{run.name}: left out, there is no folder of data; HMS_DATA says where it is")
    return here


def is_kept(run: Run, seed: int, kept: Path = KEPT) -> bool:
    """Whether the folder of a seed holds what this very command found; another command's is refused, not replaced."""
    folder = folder_of(run, seed, kept)
    if not folder.exists():  # folders appear whole or not at all
        return False
    words = read_manifest(folder)["command"]
    if words != _command(run, seed, folder):
        sys.exit(f"{folder} was made by another command ({' '.join(words)}): move it away first")
    return True


def run_once(run: Run, seed: int, kept: Path = KEPT) -> None:
    """Run one command on one seed in this process: loading the package takes longer than many of the runs."""
    words = _command(run, seed, folder_of(run, seed, kept))
    with _called_as(words), redirect_stdout(StringIO()):
        app(words[1:], standalone_mode=False)


def _command(run: Run, seed: int, folder: Path) -> list[str]:
    """Return the words with the folder of data put in, which the page leaves open."""
    data = f"{data_folder().as_posix()}/"
    return [word.replace(DATA, data) for word in run.command(f"{seed},", folder.as_posix())]


@contextmanager
def _called_as(words: list[str]) -> Iterator[None]:
    """Let the manifest name the command that runs; hms takes it from the words it was called with."""
    before = sys.argv
    sys.argv = words
    try:
        yield
    finally:
        sys.argv = before
