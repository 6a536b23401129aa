"""Measured times as a JSON file, one per machine: written whole or not at all, read only if every entry fits."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

from hybrid_scheduler import __version__
from hybrid_scheduler.compiling import cache_directory
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.execution.measured_times import MeasuredTimes, Track
from hybrid_scheduler.files import written_whole
from hybrid_scheduler.profiling.machine import cores, cpu_name, memory_mb, system

SCHEMA = 1
KIND = "measured_times"
AGAIN = "remove it, and the times will be measured again"


def machine() -> dict[str, Any]:
    """Return what times depend on, besides the device."""
    return {"cpu": cpu_name(), "cores": cores(), "memory_mb": memory_mb(), "system": system()}


def times_path() -> Path:
    """Return where this machine's times are kept unless another file is named."""
    digest = hashlib.sha256(json.dumps(machine(), sort_keys=True).encode()).hexdigest()[:16]
    return cache_directory() / "measured_times" / f"{digest}.json"


def save_times(times: MeasuredTimes, path: str | Path) -> None:
    """Write times with the machine that they were measured on."""
    head = {"kind": KIND, "schema": SCHEMA, "version": __version__, "machine": machine()}
    with written_whole(path) as scratch:
        scratch.write_text(json.dumps({**head, **times.plain()}, indent=1) + "\n", encoding="utf-8")


def load_times(path: str | Path) -> MeasuredTimes:
    """Read times; none if there is no file yet or it is of another machine."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return MeasuredTimes()
    except (ValueError, RecursionError):
        raise InputError(f"measured times {path}: torn or no JSON; {AGAIN}") from None
    except OSError as error:
        raise InputError(f"measured times {path} cannot be read ({error.strerror}): check the path") from None
    if not isinstance(data, dict) or data.get("kind") != KIND or data.get("schema") != SCHEMA:
        raise InputError(f'{path} holds no measured times ("kind": "{KIND}", "schema": {SCHEMA}): {AGAIN}')
    if data.get("machine") != machine():
        return MeasuredTimes()
    try:
        return _times_of(data["tracks"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"measured times {path}: a track is not what it should be; {AGAIN}") from None


def _times_of(rows: list[dict[str, Any]]) -> MeasuredTimes:
    times = MeasuredTimes()
    for row in rows:
        sizes, seconds = _numbers(row["log_size"]), _numbers(row["log_seconds"])
        track = Track(cold=None if row["cold"] is None else _number(row["cold"]))
        for size, second in zip(sizes, seconds, strict=True):
            track.add(size, second)
        times.tracks[str(row["type"]), str(row["class"])] = track
    return times


def _numbers(values: list[Any]) -> list[float]:
    return [_number(each) for each in values]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("no number")
    return float(value)
