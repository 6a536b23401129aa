"""Measured times of tasks by device class: predictions that improve while tasks run, kept in a file per machine.

Robust by construction: medians and a Theil–Sen line in log-log space, so that an outlier moves nothing. The first
call of a task on a new worker is warm-up and counts only while nothing better is known. The smallest and the largest
sizes seen are kept when other observations grow too old. A lasting change shows in the last observations lying on one
side of the prediction; older ones are dropped then, but for these, which are corrected by it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from hybrid_scheduler import __version__
from hybrid_scheduler.core.compiler import cache_directory
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import atomic_write, read_document
from hybrid_scheduler.profiling.devices import cpu_name, memory_mb, system_name, usable_cores

WINDOW = 64  # observations kept of a task on a class
EXTREMES = 5  # of them with the smallest and as many with the largest sizes, however old: they carry the slope
NEIGHBOURS = 9  # nearest sizes that correct the line
MIN_SPREAD = 0.2  # of the logarithms of sizes from which a line is fitted
MIN_FIT = 3  # observations from which a line is fitted
MAX_SLOPE = 4.0
RECENT = 8  # observations that can prove a change
CHECK_INTERVAL = 4  # observations between two checks for a change
MIN_CHANGE = np.log(1.25)  # logarithm of the least change that counts
TRIALS = 3  # of a task on a class before policies are trusted with it
RETRY_AFTER = 300  # observations of a task after which a class that had none of them is tried once more
DEFAULT_SECONDS = 0.01  # before anything was measured
SCHEMA = 1
KIND = "measured_times"
HINT = "remove it, and the times will be measured again"


@dataclass
class TimeHistory:
    """Observations of one task on one class."""

    log_size: deque[float] = field(default_factory=deque)  # oldest first
    log_seconds: deque[float] = field(default_factory=deque)
    warm_up: float | None = None  # log of the seconds of the last warm-up call
    count: int = 0
    changes: int = 0
    _line: tuple[float, float] | None = None  # slope and intercept, as of `_fit_count` observations
    _fit_count: int = 0
    _check_count: int = 0  # observations at the last look for a change
    _predicted: dict[float, float] = field(default_factory=dict)  # by this line: policies ask for all that wait

    def add(self, log_size: float, log_seconds: float) -> None:
        """Add an observation; the oldest one goes when there are too many."""
        self.log_size.append(log_size)
        self.log_seconds.append(log_seconds)
        self.count += 1
        if len(self.log_size) > WINDOW:
            self._drop_oldest()

    def look_for_change(self) -> None:
        """Drop the older observations if the last few prove a change; asked every few observations."""
        if len(self.log_size) < 2 * RECENT or self.count - self._check_count < CHECK_INTERVAL:
            return
        self._check_count = self.count
        if shift := self._find_shift():
            self._forget(shift)

    def _drop_oldest(self) -> None:
        """Drop the oldest observation whose size is no extreme."""
        if self.log_size.count(self.log_size[0]) > EXTREMES:  # the usual case: many of one size
            self.log_size.popleft()
            self.log_seconds.popleft()
            return
        row = next((row for row in range(len(self.log_size)) if not self._is_extreme(row)), 0)
        del self.log_size[row], self.log_seconds[row]

    def _is_extreme(self, row: int) -> bool:
        """Whether few sizes among the others are as small, or as large; of equal sizes the later ones count."""
        size, smaller, larger = self.log_size[row], 0, 0
        for other, value in enumerate(self.log_size):
            smaller += value < size or (value == size and other > row)
            larger += value > size or (value == size and other > row)
            if smaller >= EXTREMES and larger >= EXTREMES:
                return False
        return True

    def _forget(self, shift: float) -> None:
        """Drop what is older than the last few observations; extremes are kept as they would be now."""
        rows = range(len(self.log_size))
        has_spread = max(self.log_size) - min(self.log_size) > MIN_SPREAD  # equal sizes carry no slope
        old = [row for row in rows[:-RECENT] if self._is_extreme(row)] if has_spread else []
        kept = [(self.log_size[row], self.log_seconds[row] + shift) for row in old]
        kept += [(self.log_size[row], self.log_seconds[row]) for row in rows[-RECENT:]]
        self.log_size = deque(size for size, _ in kept)
        self.log_seconds = deque(seconds for _, seconds in kept)
        self.changes += 1
        self._line = None

    def merge(self, other: TimeHistory) -> None:
        """Add the observations of another history, without looking for a change between them."""
        self.log_size.extend(other.log_size)
        self.log_seconds.extend(other.log_seconds)
        while len(self.log_size) > WINDOW:
            self._drop_oldest()
        self.count += other.count
        self._line = None

    def predict(self, log_size: float) -> float:
        """Return the expected log of the seconds; NaN if nothing is known."""
        if not self.log_size:
            return float("nan") if self.warm_up is None else self.warm_up
        slope, intercept = self._fit_line()
        if slope == 0.0:
            return intercept
        if log_size not in self._predicted:
            x, rest = np.array(self.log_size), np.array(self._residuals(slope, intercept))
            near = np.argsort(np.abs(x - log_size), kind="stable")[:NEIGHBOURS]
            self._predicted[log_size] = slope * log_size + intercept + float(median(rest[near].tolist()))
        return self._predicted[log_size]

    def _residuals(self, slope: float, intercept: float) -> list[float]:
        return [y - slope * x - intercept for x, y in zip(self.log_size, self.log_seconds, strict=True)]

    def _fit_line(self) -> tuple[float, float]:
        """Return slope and intercept, fitted again when there are enough new observations."""
        if self._line is None or self.count - self._fit_count >= max(1, len(self.log_size) // 8):
            slope = self._fit_slope()
            self._line, self._fit_count = (slope, median(self._residuals(slope, 0.0))), self.count
            self._predicted.clear()
        return self._line

    def _fit_slope(self) -> float:
        """Return the Theil–Sen slope; 0 if all sizes are nearly the same."""
        if len(self.log_size) < MIN_FIT or max(self.log_size) - min(self.log_size) <= MIN_SPREAD:
            return 0.0
        x, y = np.array(self.log_size), np.array(self.log_seconds)
        first, second = np.triu_indices(len(x), 1)
        apart = np.abs(x[second] - x[first]) > MIN_SPREAD / 2
        slopes = (y[second] - y[first])[apart] / (x[second] - x[first])[apart]
        return float(np.clip(np.median(slopes), 0.0, MAX_SLOPE))

    def _find_shift(self) -> float:
        """Return by how much the last few observations differ from those before; 0 if that proves no change."""
        rest = self._residuals(*self._fit_line())
        old, new = rest[:-RECENT], rest[-RECENT:]
        middle = median(old)
        shift = [each - middle for each in new]
        found = median(shift)
        if abs(found) <= MIN_CHANGE:  # mostly: what follows is asked of few
            return 0.0
        one_sided = max(sum(each > 0 for each in shift), sum(each < 0 for each in shift)) >= RECENT - 1
        noise = 1.4826 * median([abs(each - middle) for each in old])
        return found if one_sided and abs(found) > 2.0 * noise else 0.0


class MeasuredTimes:
    """Histories of every task on every device class; a class is named by the signature of its devices."""

    def __init__(self, trials: int = TRIALS) -> None:
        self.trials = trials
        self.histories: dict[tuple[str, str], TimeHistory] = {}
        self._warm: set[tuple[str, str]] = set()  # (task, device) whose worker has run the task before
        self._tried: dict[tuple[str, str], int] = {}
        self._observed: dict[str, int] = {}  # observations of a task
        self._last: dict[tuple[str, str], int] = {}  # how many of them there were at the last one on a class

    def observe(self, task: str, signature: str, device: str, size: float, seconds: float) -> None:
        """Add a measured time of a whole task."""
        self.observe_all([(task, signature, device, size, seconds)])

    def observe_all(self, observations: Sequence[tuple[str, str, str, float, float]]) -> None:
        """Add times that came together, with the arguments of `observe`; changes are looked for once, at the end."""
        touched = dict[tuple[str, str], TimeHistory]()
        for task, signature, device, size, seconds in observations:
            key = task, signature
            history = touched.get(key) or self.histories.get(key)
            if history is None:
                history = self.histories[key] = TimeHistory()
            touched[key] = history
            value = log(seconds if seconds > 1e-9 else 1e-9)
            if (task, device) not in self._warm:
                self._warm.add((task, device))
                history.warm_up = value
            else:
                history.add(log(size), value)
            self._last[key] = self._observed[task] = self._observed.get(task, 0) + 1
        for history in touched.values():
            history.look_for_change()

    def reset_warm_up(self, device: str) -> None:
        """Note that a device has a new worker, whose first calls are warm-up again."""
        self._warm = {each for each in self._warm if each[1] != device}

    def is_warm(self, task: str, device: str) -> bool:
        """Whether the worker of a device has run a task before."""
        return (task, device) in self._warm

    def has_measured(self, task: str, signature: str) -> bool:
        """Whether a task was measured on a class, warm-up included."""
        history = self.histories.get((task, signature))
        return history is not None and (history.count > 0 or history.warm_up is not None)

    def predict(self, task: str, signatures: Sequence[str], size: float) -> Floats:
        """Return expected seconds by class; classes without measurements are estimated from the others."""
        log_size = log(size)
        known = np.array(
            [
                history.predict(log_size) if (history := self.histories.get((task, name))) is not None else np.nan
                for name in signatures
            ]
        )
        if np.isnan(known).any():
            known = self._fill_missing(known, signatures)
        seconds: Floats = np.exp(known)
        return seconds

    def _fill_missing(self, known: Floats, signatures: Sequence[str]) -> Floats:
        """Fill gaps with the typical ratio between classes, or with the median of all measurements."""
        typical = np.array([self._typical(name) for name in signatures])
        have = ~np.isnan(known)
        if not have.any():
            return np.where(np.isnan(typical), np.log(DEFAULT_SECONDS), typical)
        apart = known[have] - typical[have]
        level = float(np.nanmedian(apart)) if not np.isnan(apart).all() else np.nan
        estimate = typical + level
        estimate = np.where(np.isnan(estimate), float(np.median(known[have])), estimate)
        return np.where(have, known, estimate)

    def _typical(self, signature: str) -> float:
        """Return the median log of the seconds on a class."""
        medians = [
            float(np.median(each.log_seconds))
            for (_, name), each in self.histories.items()
            if name == signature and each.count
        ]
        return float(np.median(medians)) if medians else float("nan")

    def bias(self, signature: str) -> float:
        """Return the sum of the seconds measured on a class over the sum of the predictions; 1 without any."""
        own = [each for (_, name), each in self.histories.items() if name == signature and each.log_size]
        measured = sum(float(np.exp(each.log_seconds).sum()) for each in own)
        predicted = sum(float(np.exp(each.predict(size))) for each in own for size in each.log_size)
        return measured / predicted if own else 1.0

    def merge(self, other: MeasuredTimes) -> MeasuredTimes:
        """Return the observations of both."""
        both = deepcopy(self)
        for key, history in other.histories.items():
            both.histories.setdefault(key, TimeHistory(warm_up=history.warm_up)).merge(history)
        return both

    def find_trial(self, task: str, signatures: Sequence[str]) -> int:
        """Return the class on which a task should be timed next, -1 if enough is known; each trial is counted."""
        column = min(
            (column for column, name in enumerate(signatures) if self._needs_trial(task, name)),
            key=lambda column: self._tried.get((task, signatures[column]), 0),  # in turns
            default=-1,
        )
        if column >= 0:
            key = (task, signatures[column])
            self._tried[key] = self._tried.get(key, 0) + 1
            self._last[key] = self._observed.get(task, 0)
        return column

    def _needs_trial(self, task: str, signature: str) -> bool:
        history = self.histories.get((task, signature))
        if history is not None and self._observed.get(task, 0) - self._last.get((task, signature), 0) >= RETRY_AFTER:
            return True
        is_known = history is not None and history.count + 1 >= self.trials
        return not is_known and self._tried.get((task, signature), 0) < self.trials


class TransferTimes:
    """Seconds that data takes from place to place, by pair: from a node or the driver to a class of devices."""

    def __init__(self) -> None:
        self._rates: dict[tuple[str, str], deque[float]] = {}  # seconds a byte
        self._warm_up: dict[tuple[str, str], deque[float]] = {}  # the same, of first calls
        self._bytes: dict[tuple[str, str], int] = {}

    def observe(
        self, sources: Mapping[str, int], signature: str, seconds: float, *, is_warm_up: bool = False
    ) -> None:
        """Add what loading data took: bytes by the place where they were; together they took these seconds.

        The first call of a task on a worker is warm-up: modules are imported while its arguments are loaded. It
        counts only while nothing better is known.
        """
        total, rates = sum(sources.values()), self._warm_up if is_warm_up else self._rates
        for place, num_bytes in sources.items():
            pair = place, signature
            rates.setdefault(pair, deque(maxlen=WINDOW)).append(seconds / total)
            self._bytes[pair] = self._bytes.get(pair, 0) + num_bytes

    def predict(self, sources: Mapping[str, int], signature: str) -> float:
        """Return the seconds that data will take; nothing for pairs that were never seen."""
        return sum(self._find_rate((place, signature)) * num_bytes for place, num_bytes in sources.items())

    def _find_rate(self, pair: tuple[str, str]) -> float:
        known = self._rates.get(pair) or self._warm_up.get(pair)
        return median(known) if known else 0.0

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per pair of places: megabytes moved, megabytes a second, and how often."""
        return [
            {
                "from": place,
                "to": signature.partition("=")[0],
                "megabytes": self._bytes[place, signature] / 1e6,
                "megabytes_per_second": 1e-6 / max(self._find_rate((place, signature)), 1e-15),
                "transfers": sum(len(each.get((place, signature), ())) for each in (self._rates, self._warm_up)),
            }
            for place, signature in sorted(self._bytes)
        ]


def times_path() -> Path:
    """Return where this machine's times are kept unless another file is named."""
    digest = hashlib.sha256(json.dumps(describe_machine(), sort_keys=True).encode()).hexdigest()[:16]
    return cache_directory() / "measured_times" / f"{digest}.json"


def describe_machine() -> dict[str, Any]:
    """Return what times depend on, besides the device."""
    return {"cpu": cpu_name(), "cores": usable_cores(), "memory_mb": memory_mb(), "system": system_name()}


def save_times(times: MeasuredTimes, path: str | Path) -> None:
    """Write times with the machine that they were measured on."""
    rows = [
        {
            "type": task,
            "class": signature,
            "log_size": list(history.log_size),
            "log_seconds": list(history.log_seconds),
            "cold": history.warm_up,
            "seen": history.count,
        }
        for (task, signature), history in sorted(times.histories.items())
    ]
    head = {"kind": KIND, "schema": SCHEMA, "version": __version__, "machine": describe_machine()}
    with atomic_write(path) as scratch:
        scratch.write_text(json.dumps({**head, "tracks": rows}, indent=1) + "\n", encoding="utf-8")


def load_times(path: str | Path) -> MeasuredTimes:
    """Read times; none if there is no file yet or it is of another machine."""
    try:
        data = json.loads(read_document(path))
    except FileNotFoundError:
        return MeasuredTimes()
    except (ValueError, RecursionError):
        raise InputError(f"measured times {path}: damaged or no JSON; {HINT}") from None
    except OSError as error:
        raise InputError(f"measured times {path} cannot be read ({error.strerror}): check the path") from None
    if not isinstance(data, dict) or data.get("kind") != KIND or data.get("schema") != SCHEMA:
        raise InputError(f'{path} holds no measured times ("kind": "{KIND}", "schema": {SCHEMA}): {HINT}')
    if data.get("machine") != describe_machine():
        return MeasuredTimes()
    times = MeasuredTimes()
    try:
        for row in data["tracks"]:
            history = TimeHistory(warm_up=None if row["cold"] is None else _parse_number(row["cold"]))
            for size, seconds in zip(row["log_size"], row["log_seconds"], strict=True):
                history.add(_parse_number(size), _parse_number(seconds))
            times.histories[str(row["type"]), str(row["class"])] = history
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"measured times {path}: a track is not what it should be; {HINT}") from None
    return times


def _parse_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("no number")
    return float(value)
