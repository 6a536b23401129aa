"""Runs a sweep in a directory: every finished point is kept at once, so an interrupted sweep goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.compiling import use_cores
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import sha256, written_whole
from hybrid_scheduler.race import compare
from hybrid_scheduler.runs import environment, to_json
from hybrid_scheduler.sweep.grid import Grid, Point
from hybrid_scheduler.training import kept_model, missing_models
from hybrid_scheduler.workers import Outcome, carried_out

Progress = Callable[[int, int], None]
Carry = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Outcome]]
"""Does jobs somewhere and yields what became of each: processes of this machine, or a Ray cluster."""
PARTS, RESULTS, TIMINGS, MANIFEST = "parts", "results.parquet", "timings.parquet", "manifest.json"
PLACE = ("workload", "load", "cluster", "seed", "scheduler")


@dataclass(frozen=True)
class Finished:
    """A finished sweep: where its table is, and how many of its points were there before."""

    folder: Path
    points: int
    resumed: int


def on_processes(count: int, time_limit: float) -> Carry:
    """Do jobs in processes of this machine."""
    return lambda work, jobs: carried_out(work, jobs, count, time_limit)


def run_sweep(grid: Grid, folder: str | Path, carry: Carry, progress: Progress | None = None) -> Finished:
    """Run what is missing, then collect; the table depends on the grid alone, not on who did which point."""
    place, points = Path(folder), grid.points()
    _claim(place, points)
    waiting = [point for point in points if not _part(place, point).exists()]
    _give_lessons(waiting)
    resumed = len(points) - len(waiting)
    if progress:
        progress(resumed, len(points))
    for done, outcome in enumerate(carry(run_point, waiting), start=resumed + 1):
        point = waiting[outcome.number]
        if outcome.problem:
            raise InputError(f"{_named(point)}: {outcome.problem}; finished points are kept, run it again to go on")
        with written_whole(_part(place, point)) as scratch:
            scratch.write_text(json.dumps(outcome.value), encoding="utf-8")
        if progress:
            progress(done, len(points))
    _collect(place, points)
    return Finished(place, len(points), resumed)


def run_point(point: Point) -> dict[str, Any]:
    """Run one comparison on one core; a function of a module, so that other processes find it."""
    use_cores(1)
    outcome = compare(point.comparison).outcomes[0]
    return {
        "bound": outcome.bound.makespan,
        "measures": outcome.measures,
        "decision_seconds": outcome.decision_seconds,
    }


def _claim(place: Path, points: Sequence[Point]) -> None:
    """Make the folder this sweep's, or find that it is; another sweep's is refused."""
    manifest = place / MANIFEST
    wanted = {"kind": "sweep", "version": __version__, "points": [point.digest for point in points]}
    if manifest.exists():
        try:
            found = json.loads(manifest.read_text(encoding="utf-8"))
            same = {key: found[key] for key in wanted} == wanted
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{manifest} is torn: remove {place} and start again") from None
        if not same:
            raise InputError(f"{place} holds another sweep (or one of another version): choose another folder")
    elif place.exists() and any(place.iterdir()):
        raise InputError(f"{place} exists and holds no sweep: choose another folder")
    else:
        with written_whole(manifest) as scratch:
            scratch.write_text(to_json({**wanted, "environment": environment()}), encoding="utf-8")


def _give_lessons(points: Sequence[Point]) -> None:
    """Train agents once before many processes would each do so."""
    for point in points:
        asked = point.comparison
        for spec in missing_models(asked.schedulers, asked.cluster, asked.mode):
            kept_model(spec, asked.cluster, asked.mode)


def _part(place: Path, point: Point) -> Path:
    return place / PARTS / f"{point.digest}.json"


def _named(point: Point) -> str:
    return f"{point.workload}, load {point.load or 'as it is'}, {point.cluster}, seed {point.seed}"


def _collect(place: Path, points: Sequence[Point]) -> None:
    """Write the tables: measures, which are the same wherever they are made, and wall times, which are not."""
    measures, timings = [], []
    for point in points:
        part = _read_part(_part(place, point))
        for spec, figures in part["measures"].items():
            row = dict(zip(PLACE, (point.workload, point.load, point.cluster, point.seed, spec), strict=True))
            measures.append({**row, "bound": part["bound"], **figures})
            timings.append({**row, "decision_seconds": part["decision_seconds"][spec]})
    _write(place / RESULTS, measures)
    _write(place / TIMINGS, timings)


def _read_part(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return {key: found[key] for key in ("bound", "measures", "decision_seconds")}
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path} is torn: remove it and run the sweep again") from None


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {name: [row[name] for row in rows] for name in rows[0]}
    columns["load"] = pa.array(columns["load"], pa.float64())
    with written_whole(path) as scratch:
        parquet.write_table(pa.table(columns), scratch)


def digest(folder: str | Path) -> str:
    """Return the SHA-256 of a sweep's table."""
    return sha256(Path(folder) / RESULTS)
