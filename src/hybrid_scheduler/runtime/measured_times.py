"""What was measured so far: seconds by (type of task × device class), learnt while tasks run.

Robust by construction: medians and a Theil–Sen line in log-log, so that a spike moves nothing; the first call of a
type on a fresh worker is warm-up and counts only while nothing better is known; a lasting change is noticed by the
last observations lying on one side of what was expected, and then what came before is forgotten.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from hybrid_scheduler import __version__
from hybrid_scheduler.core.compiling import cache_directory
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import written_whole
from hybrid_scheduler.profiling.devices import cores, cpu_name, memory_mb, system

WINDOW = 64  # observations kept of a type on a class
NEAR = 9  # nearest sizes that correct the line
SPREAD = 0.2  # logarithm of sizes' spread from which a line is fitted
RECENT = 8  # observations that can prove a change
LOOK = 4  # observations between two looks for a change
CHANGE = np.log(1.25)  # logarithm of the least change that counts
STEEPEST = 4.0
TRIES = 3  # of a type on a class before policies are trusted with it
AGAIN = 300  # observations of a type after which a class that had none of them is tried once more
GUESS = 0.01  # seconds, before anything was measured


@dataclass
class Track:
    """Observations of one type on one class."""

    log_size: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    log_seconds: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    cold: float | None = None  # log of the last warm-up call
    seen: int = 0
    changes: int = 0
    _line: tuple[float, float] | None = None  # slope and intercept, as of when `_fitted` had been seen
    _fitted: int = 0

    def add(self, log_size: float, log_seconds: float) -> None:
        """Take an observation; forget the older ones if the last few prove a change."""
        self.log_size.append(log_size)
        self.log_seconds.append(log_seconds)
        self.seen += 1
        if len(self.log_size) >= 2 * RECENT and self.seen % LOOK == 0 and self._has_changed():
            for column in (self.log_size, self.log_seconds):
                kept = list(column)[-RECENT:]
                column.clear()
                column.extend(kept)
            self.changes += 1
            self._line = None

    def predict(self, log_size: float) -> float:
        """Return the expected log of the seconds; NaN if nothing is known."""
        if not self.log_size:
            return float("nan") if self.cold is None else self.cold
        slope, intercept = self._fitted_line()
        if slope == 0.0:
            return intercept
        x, rest = np.array(self.log_size), np.array(self._residuals(slope, intercept))
        near = np.argsort(np.abs(x - log_size), kind="stable")[:NEAR]
        return slope * log_size + intercept + float(median(rest[near].tolist()))

    def _residuals(self, slope: float, intercept: float) -> list[float]:
        return [y - slope * x - intercept for x, y in zip(self.log_size, self.log_seconds, strict=True)]

    def _fitted_line(self) -> tuple[float, float]:
        """Return slope and intercept, fitted when they are asked for and enough has come since the last time."""
        if self._line is None or self.seen - self._fitted >= max(1, len(self.log_size) // 8):
            slope = self._slope()
            self._line, self._fitted = (slope, median(self._residuals(slope, 0.0))), self.seen
        return self._line

    def _slope(self) -> float:
        """Return the Theil–Sen slope; 0 if sizes hardly differ."""
        if len(self.log_size) < 5 or max(self.log_size) - min(self.log_size) <= SPREAD:
            return 0.0
        x, y = np.array(self.log_size), np.array(self.log_seconds)
        if np.subtract(*np.percentile(x, [90, 10])) <= SPREAD:
            return 0.0
        first, second = np.triu_indices(len(x), 1)
        apart = np.abs(x[second] - x[first]) > SPREAD / 2
        rises = (y[second] - y[first])[apart] / (x[second] - x[first])[apart]
        return float(np.clip(np.median(rises), 0.0, STEEPEST))

    def _has_changed(self) -> bool:
        rest = self._residuals(*self._fitted_line())
        old, new = rest[:-RECENT], rest[-RECENT:]
        middle = median(old)
        noise = 1.4826 * median([abs(each - middle) for each in old])
        shift = [each - middle for each in new]
        one_sided = max(sum(each > 0 for each in shift), sum(each < 0 for each in shift)) >= RECENT - 1
        return one_sided and abs(median(shift)) > max(CHANGE, 2.0 * noise)


class MeasuredTimes:
    """Tracks of every (type, class); a class is named by the signature of its devices."""

    def __init__(self, tries: int = TRIES) -> None:
        self.tries = tries
        self.tracks: dict[tuple[str, str], Track] = {}
        self._warm: set[tuple[str, str]] = set()  # (type, device) whose worker has run the type before
        self._tried: dict[tuple[str, str], int] = {}
        self._observed: dict[str, int] = {}  # observations of a type
        self._at: dict[tuple[str, str], int] = {}  # how many of them there were at the last one on a class

    def observe(self, kind: str, signature: str, device: str, size: float, seconds: float) -> None:
        """Take a measured time of a whole task."""
        track = self.tracks.setdefault((kind, signature), Track())
        value = log(max(seconds, 1e-9))
        if (kind, device) not in self._warm:
            self._warm.add((kind, device))
            track.cold = value
        else:
            track.add(log(size), value)
        self._observed[kind] = self._observed.get(kind, 0) + 1
        self._at[kind, signature] = self._observed[kind]

    def cool(self, device: str) -> None:
        """Note that a device has a new worker, whose first calls are warm-up again."""
        self._warm = {each for each in self._warm if each[1] != device}

    def knows(self, kind: str, signature: str) -> bool:
        """Whether anything was measured of a type on a class, warm-up included."""
        track = self.tracks.get((kind, signature))
        return track is not None and (track.seen > 0 or track.cold is not None)

    def predict(self, kind: str, signatures: Sequence[str], size: float) -> Floats:
        """Return expected seconds by class; what was never measured is guessed from what was."""
        log_size = log(size)
        known = np.array(
            [
                track.predict(log_size) if (track := self.tracks.get((kind, name))) is not None else np.nan
                for name in signatures
            ]
        )
        missing = np.isnan(known)
        if missing.any():
            known = self._guessed(known, signatures)
        seconds: Floats = np.exp(known)
        return seconds

    def _guessed(self, known: Floats, signatures: Sequence[str]) -> Floats:
        """Fill gaps with the usual ratio between classes, or with the median of all that was measured."""
        usual = np.array([self._usual(name) for name in signatures])
        have = ~np.isnan(known)
        if not have.any():
            return np.where(np.isnan(usual), np.log(GUESS), usual)
        apart = known[have] - usual[have]
        level = float(np.nanmedian(apart)) if not np.isnan(apart).all() else np.nan
        guess = usual + level
        guess = np.where(np.isnan(guess), float(np.median(known[have])), guess)
        return np.where(have, known, guess)

    def _usual(self, signature: str) -> float:
        """Return the median log of the seconds on a class."""
        middles = [
            float(np.median(t.log_seconds)) for key, t in self.tracks.items() if key[1] == signature and t.seen
        ]
        return float(np.median(middles)) if middles else float("nan")

    def level(self, signature: str) -> float:
        """Return the sum of the seconds measured on a class over the sum that is expected; 1 without any."""
        mine = [track for key, track in self.tracks.items() if key[1] == signature and track.log_size]
        measured = sum(float(np.exp(track.log_seconds).sum()) for track in mine)
        expected = sum(float(np.exp(track.predict(each))) for track in mine for each in track.log_size)
        return measured / expected if mine else 1.0

    def and_also(self, other: MeasuredTimes) -> MeasuredTimes:
        """Return what both have observed, without looking for a change between them."""
        both = deepcopy(self)
        for key, track in other.tracks.items():
            mine = both.tracks.setdefault(key, Track(cold=track.cold))
            mine.log_size.extend(track.log_size)
            mine.log_seconds.extend(track.log_seconds)
            mine.seen += track.seen
            mine._line = None
        return both

    def wants(self, kind: str, signatures: Sequence[str]) -> int:
        """Return the class on which a type should be tried next, -1 if enough is known; each try is counted."""
        for column, name in enumerate(signatures):
            key = (kind, name)
            tried = self._tried.get(key, 0)
            track = self.tracks.get(key)
            settled = track is not None and track.seen + 1 >= self.tries
            stale = track is not None and self._missed(key) >= AGAIN
            if stale or (tried < self.tries and not settled):
                self._tried[key] = tried + 1
                self._at[key] = self._observed.get(kind, 0)
                return column
        return -1

    def _missed(self, key: tuple[str, str]) -> int:
        """Return how many observations of a type there were since one on a class."""
        return self._observed.get(key[0], 0) - self._at.get(key, 0)

    def plain(self) -> dict[str, Any]:
        """Return plain data from which `of_plain` builds the same knowledge."""
        return {
            "tracks": [
                {
                    "type": kind,
                    "class": signature,
                    "log_size": list(track.log_size),
                    "log_seconds": list(track.log_seconds),
                    "cold": track.cold,
                    "seen": track.seen,
                }
                for (kind, signature), track in sorted(self.tracks.items())
            ]
        }


SCHEMA = 1
KIND = "measured_times"
REMOVE_HINT = "remove it, and the times will be measured again"


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
