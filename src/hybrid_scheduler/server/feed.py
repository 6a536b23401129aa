"""`Feed`: observes a race, remembers its last tasks, and collects the news for the next frame."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.placements import WAITING, Placements
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.live.lane import Started
from hybrid_scheduler.live.settings import Change
from hybrid_scheduler.live.simulation import RaceEvent
from hybrid_scheduler.live.snapshot import (
    PlacedBlock,
    Snapshot,
    TaskRecord,
    TaskResult,
    ToList,
    build_results,
    build_task_records,
    to_plain_list,
)
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server.encoding import round_figure, round_time

NOTICE_SECONDS = 10.0
"""Between two notices of refits: at full speed a forest is fitted again several times a second."""
RECENT = 2000  # tasks that can be found before they are stored
EXPLAINED = 500  # tasks whose explanations are kept
NEW_RECORDS, NEW_SPANS = 50, 300  # at most in one frame
SHOWN = 500  # tasks that were shown while they waited and are shown again when they start
_TIMES = ("arrival_time", "start", "finish")
_SHARES = (("gpu", "gpu_start", "gpu_seconds"), ("cpu", "cpu_start", "cpu_seconds"))


class Span(NamedTuple):
    """A share of a task on a device."""

    scheduler: str
    device: int
    start: float
    end: float
    task_id: int
    attempt: int


@dataclass(frozen=True)
class RecentTask:
    """A task of the last ones, and the explanations of its decisions."""

    record: TaskRecord
    explanations: dict[str, Explanation]  # by scheduler; empty: not explained
    devices: list[tuple[str, str]]  # name and kind by index, at that time


@dataclass(frozen=True)
class TaskUpdate:
    """What has become known of a task that was shown while it waited in ordered queues."""

    task_id: int
    results: dict[str, TaskResult]
    """By scheduler; the others stay as they were."""


@dataclass
class News:
    """What happened since the last frame: the newest records and spans, and the counts of all."""

    records: deque[TaskRecord] = field(default_factory=lambda: deque(maxlen=NEW_RECORDS))
    records_total: int = 0
    spans: deque[Span] = field(default_factory=lambda: deque(maxlen=NEW_SPANS))
    spans_total: int = 0
    marks: list[Change] = field(default_factory=list)
    updates: list[TaskUpdate] = field(default_factory=list)


class Tail:
    """The last blocks that hold so many tasks; records are built from them on demand only."""

    def __init__(self, limit: int) -> None:
        self._limit, self._count = limit, 0
        self.blocks: deque[RaceEvent] = deque()

    def add(self, block: RaceEvent) -> None:
        """Append a block; older ones beyond the limit are dropped."""
        self.blocks.append(block)
        self._count += block.tasks
        while self._count - self.blocks[0].tasks >= self._limit:
            self._count -= self.blocks.popleft().tasks

    def records(self, limit: int) -> list[TaskRecord]:
        """Return the last tasks with rounded figures, newest last."""
        parts: list[list[TaskRecord]] = []
        for block in reversed(self.blocks):
            if limit > 0 and block.placed:
                parts.insert(0, build_task_records(block.placed, slice(-limit, None), _round_column))
                limit -= len(parts[0])
        return self._add_started([record for part in parts for record in part], _round_column)

    def find(self, task_id: int) -> RecentTask | None:
        """Return a task if it is one of the last."""
        for block in reversed(self.blocks):
            if block.placed and 0 <= (row := task_id - int(block.placed.tasks.task_id[0])) < block.tasks:
                found = _build_recent_task(block.placed, row)
                return replace(found, record=self._add_started([found.record], to_plain_list)[0])
        return None

    def _add_started(self, records: list[TaskRecord], to_list: ToList) -> list[TaskRecord]:
        """Return records with the results that became known after the tasks had come."""
        if not any(_waits(record) for record in records):
            return records
        wanted = np.array([record.task_id for record in records])
        found = _list_started([each for block in self.blocks for each in _select_started(block, wanted)], to_list)
        return [replace(each, results=each.results | found.get(each.task_id, {})) for each in records]


class Feed:
    """The last tasks, and the news for the next frame. Any thread may read.

    At full speed most blocks are never shown, so the race's thread only appends them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent = Tail(RECENT)
        self._explained: dict[int, RecentTask] = {}  # by task, oldest first
        self._new, self._news = Tail(NEW_SPANS), News()
        self._shown = np.empty(0, np.int64)  # tasks that were shown while they waited
        self._late: list[tuple[str, Started]] = []  # of those: what has started since the last frame

    def __call__(self, block: RaceEvent) -> None:
        """Append a block, in the race's thread."""
        with self._lock:
            self._recent.add(block)
            self._new.add(block)
            if block.placed and block.placed.explanations:
                self._explained[int(block.placed.tasks.task_id[0])] = _build_recent_task(block.placed, 0)
                if len(self._explained) > EXPLAINED:
                    del self._explained[next(iter(self._explained))]
            self._news.records_total += block.tasks
            for _, each, _ in _parts(block):
                self._news.spans_total += int(((each.gpu >= 0) & each.ran).sum() + ((each.cpu >= 0) & each.ran).sum())
            self._news.marks.extend(block.changes)
            if len(self._shown):
                self._late += _select_started(block, self._shown)

    def find_task(self, task_id: int) -> RecentTask | None:
        """Return one of the last tasks, or of the last explained ones."""
        with self._lock:
            return self._recent.find(task_id) or self._explained.get(task_id)

    def news(self) -> News:
        """Return the news since the last call."""
        with self._lock:
            news, new, late = self._news, self._new, self._late
            self._new, self._news, self._late = Tail(NEW_SPANS), News(), []
        news.records.extend(new.records(NEW_RECORDS))
        news.updates.extend(TaskUpdate(*each) for each in _list_started(late, _round_column).items())
        waiting = [record.task_id for record in news.records if _waits(record)]
        with self._lock:
            self._shown = np.concatenate([self._shown, np.array(waiting, np.int64)])[-SHOWN:]
        for block in new.blocks:
            # Only the newest tasks of a block can be shown, so no more are converted.
            rows = -(-NEW_SPANS // max(1, len(block.placed.placements if block.placed else block.restarted)))
            for name, placed, attempt in _parts(block):
                news.spans.extend(_build_spans(name, placed, attempt, max(0, len(placed) - rows)))
        return news


def _parts(block: RaceEvent) -> Iterator[tuple[str, Placements, Ints | int]]:
    """Yield what was placed, what was restarted and what has started late, by scheduler, with the attempts."""
    for name, each in block.placed.placements.items() if block.placed else ():
        yield name, each, 1
    for name, each in block.restarted.items():
        yield name, each, 2
    for name, started in block.started.items():
        yield name, *started


def _waits(record: TaskRecord) -> bool:
    return any(each.status == WAITING for each in record.results.values())


def _select_started(block: RaceEvent, task_ids: Ints) -> list[tuple[str, Started]]:
    """Return those of some tasks that have started, by scheduler."""
    found = []
    for name, (placed, attempt) in block.started.items():
        rows = np.isin(placed.tasks.task_id, task_ids)
        if rows.any():
            found.append((name, Started(placed.select(rows), attempt[rows])))
    return found


def _list_started(started: list[tuple[str, Started]], to_list: ToList) -> dict[int, dict[str, TaskResult]]:
    """Return the results of tasks that have started, by task and scheduler."""
    results: dict[int, dict[str, TaskResult]] = {}
    for name, (placed, attempt) in started:
        rows = build_results(placed, slice(None), to_list, attempt)
        for task_id, result in zip(placed.tasks.task_id.tolist(), rows, strict=True):
            results.setdefault(task_id, {})[name] = result
    return results


def _build_spans(name: str, placed: Placements, attempt: Ints | int, first: int) -> list[Span]:
    spans = []
    ids, ran = placed.tasks.task_id.tolist(), placed.ran.tolist()
    attempts = np.broadcast_to(attempt, len(ids)).tolist()
    for device, start, seconds in ([getattr(placed, column).tolist() for column in share] for share in _SHARES):
        spans += [
            Span(name, device[row], start[row], start[row] + seconds[row], ids[row], attempts[row])
            for row in range(first, len(ids))
            if device[row] >= 0 and ran[row]
        ]
    return spans


def _build_recent_task(placed: PlacedBlock, row: int) -> RecentTask:
    (record,) = build_task_records(placed, slice(row, row + 1))
    return RecentTask(record, placed.explanations if row == 0 else {}, list(placed.devices))


def _round_column(name: str, column: Floats) -> list[float]:
    round_value = round_time if name in _TIMES else round_figure
    return [round_value(each) for each in column.tolist()]


class Announcer:
    """Finds news in the snapshots of one race."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._task = -1
        self._fits: dict[str, int] = {}
        self._noticed = -NOTICE_SECONDS

    def describe_placements(self, snapshot: Snapshot) -> Iterator[str]:
        """Yield where each scheduler sent the newest task, unless that was told before."""
        latest = snapshot.latest
        if latest is None or latest.task_id == self._task:
            return
        self._task = latest.task_id
        names = {device.index: device.name for device in snapshot.devices}  # a GPU may be gone since
        for scheduler, result in latest.results.items():
            if result.device in names:
                yield f"Task {latest.task_id} assigned to {_spell_device(names[result.device])} by {scheduler}"

    def describe_fits(self, snapshot: Snapshot) -> list[str]:
        """Return a line for every model that has been fitted again since the snapshot before."""
        fits = {each.name: int(getattr(each.insight, "retrains", 0)) for each in snapshot.schedulers}
        before, self._fits = self._fits, fits
        return [
            f"Model Retrained: {name}, fit {count}" for name, count in fits.items() if count > before.get(name, count)
        ]

    def is_due(self) -> bool:
        """Whether people may be told of a refit now; counts from the last time."""
        now = self._clock()
        if now - self._noticed < NOTICE_SECONDS:
            return False
        self._noticed = now
        return True


def _spell_device(device: str) -> str:
    """Return 'GPU 3' for 'gpu3'; other names as they are."""
    kind, number = device.rstrip("0123456789"), device[len(device.rstrip("0123456789")) :]
    return f"{kind.upper()} {number}".strip() if kind in ("cpu", "gpu") else device
