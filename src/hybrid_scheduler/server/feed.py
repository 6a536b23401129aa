"""`Feed`: a sink that folds what happened since the last frame, for everyone who watches."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.live.race import Placed, record
from hybrid_scheduler.live.settings import Change
from hybrid_scheduler.live.simulation import Block
from hybrid_scheduler.live.snapshot import TaskRecord, TaskResult
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server.encoding import figure, moment

RECENT = 2000  # tasks that are remembered until they are stored
EXPLAINED = 500  # tasks of which it is remembered why they are where they are
NEW_RECORDS, NEW_SPANS = 50, 300  # at most in one frame
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
class Recalled:
    """A task that is remembered, and why it is where it is."""

    record: TaskRecord
    reasons: dict[str, Explanation]  # empty: nobody asked
    devices: list[tuple[str, str]]  # name and kind by number, at that time


@dataclass
class News:
    """What happened since the last frame; of much, only the newest, with a count of all."""

    records: deque[TaskRecord] = field(default_factory=lambda: deque(maxlen=NEW_RECORDS))
    records_total: int = 0
    spans: deque[Span] = field(default_factory=lambda: deque(maxlen=NEW_SPANS))
    spans_total: int = 0
    marks: list[Change] = field(default_factory=list)


class Tail:
    """The last blocks that hold so many tasks; records are made of them only when somebody looks."""

    def __init__(self, most: int) -> None:
        self._most, self._count = most, 0
        self.blocks: deque[Block] = deque()

    def add(self, block: Block) -> None:
        """Take a block; older ones that nobody needs any more are dropped."""
        self.blocks.append(block)
        self._count += _tasks(block)
        while self._count - _tasks(self.blocks[0]) >= self._most:
            self._count -= _tasks(self.blocks.popleft())

    def records(self, most: int) -> list[TaskRecord]:
        """Return the last tasks with as many digits as can be seen, newest last."""
        made: list[list[TaskRecord]] = []
        for block in reversed(self.blocks):
            if most > 0 and block.placed:
                made.insert(0, records_of(block.placed, short=True)[-most:])
                most -= len(made[0])
        return [record for records in made for record in records]

    def find(self, task_id: int) -> Recalled | None:
        """Return a task if it is among the last ones."""
        for block in reversed(self.blocks):
            if block.placed and 0 <= (row := task_id - int(block.placed.tasks.task_id[0])) < _tasks(block):
                return recalled(block.placed, row)
        return None


def _tasks(block: Block) -> int:
    return len(block.placed.tasks) if block.placed else 0


class Feed:
    """Remembers the last tasks, and the news for the next frame. Any thread may read.

    At full speed most blocks are never looked at, so the race's thread only keeps them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent = Tail(RECENT)
        self._explained: dict[int, Recalled] = {}  # by task, oldest first
        self._new, self._news = Tail(NEW_SPANS), News()

    def __call__(self, block: Block) -> None:
        """Take a block, in the race's thread."""
        with self._lock:
            self._recent.add(block)
            self._new.add(block)
            self._keep_reasons(block.placed)
            self._news.records_total += _tasks(block)
            self._news.spans_total += sum(_shares(each) for part in _parts(block) for each in part.values())
            self._news.marks.extend(block.changes)

    def _keep_reasons(self, placed: Placed | None) -> None:
        if placed and placed.reasons:
            self._explained[int(placed.tasks.task_id[0])] = recalled(placed, 0)
            if len(self._explained) > EXPLAINED:
                del self._explained[next(iter(self._explained))]

    def recall(self, task_id: int) -> Recalled | None:
        """Return one of the last tasks, or of the last that were explained."""
        with self._lock:
            return self._explained.get(task_id) or self._recent.find(task_id)

    def news(self) -> News:
        """Return what is new since this was asked last."""
        with self._lock:
            news, new = self._news, self._new
            self._new, self._news = Tail(NEW_SPANS), News()
        news.records.extend(new.records(NEW_RECORDS))
        for block in new.blocks:
            for attempt, part in enumerate(_parts(block), 1):
                news.spans.extend(_newest_spans(part, attempt))
        return news


def _parts(block: Block) -> tuple[dict[str, Placements], dict[str, Placements]]:
    """Return what was placed, and what was placed again."""
    placed = block.placed
    return (placed.placements if placed else {}), {**(placed.restarted if placed else {}), **block.restarted}


def _shares(placed: Placements) -> int:
    return int((placed.gpu >= 0).sum() + (placed.cpu >= 0).sum())


def _newest_spans(placements: dict[str, Placements], attempt: int) -> list[Span]:
    # Only the newest tasks of a block can be shown, so no more are looked at.
    rows_each = -(-NEW_SPANS // max(1, len(placements)))
    return [
        span
        for name, placed in placements.items()
        for span in _spans(name, placed, attempt, max(0, len(placed) - rows_each))
    ]


def _spans(name: str, placed: Placements, attempt: int, first: int) -> list[Span]:
    found = []
    ids = placed.tasks.task_id.tolist()
    for device, start, seconds in ([getattr(placed, column).tolist() for column in share] for share in _SHARES):
        found += [
            Span(name, device[row], start[row], start[row] + seconds[row], ids[row], attempt)
            for row in range(first, len(ids))
            if device[row] >= 0
        ]
    return found


def recalled(placed: Placed, row: int) -> Recalled:
    """Return a task of a block, and the reasons if it was explained."""
    return Recalled(record(placed, row), placed.reasons if row == 0 else {}, list(placed.devices))


def records_of(placed: Placed, short: bool = False) -> list[TaskRecord]:
    """Return the tasks of a block and what all schedulers made of them, column by column for speed."""
    tasks = placed.tasks
    columns = (tasks.size, tasks.compute_intensity, tasks.memory_required, tasks.arrival_time)
    table = _table((*columns, placed.optimal_gpu_fraction, placed.optimal_time), [3] if short else [])
    made = {name: _results(each, short) for name, each in placed.placements.items()}
    results = [{name: each[row] for name, each in made.items()} for row in range(len(tasks))]
    explained = [bool(placed.reasons) and row == 0 for row in range(len(tasks))]
    measured = [placed.measured] * len(tasks)
    rows = zip(tasks.task_id.tolist(), *table, results, explained, measured, strict=True)
    return [TaskRecord(*row) for row in rows]


def _table(columns: Sequence[Floats], moments_at: list[int]) -> list[list[float]]:
    """Return columns as lists: as they are, or short if it is said which of them are moments."""
    table: list[list[float]] = [column.tolist() for column in columns]
    if not moments_at:
        return table
    return [[(moment if at in moments_at else figure)(each) for each in row] for at, row in enumerate(table)]


def _results(placed: Placements, short: bool) -> list[TaskResult]:
    ran = placed.ran
    device = np.where(placed.gpu >= 0, placed.gpu, placed.cpu)
    nan = np.where(ran, 0.0, np.nan)  # added to a figure, it leaves rejected tasks without one
    columns = (
        placed.start + nan,
        placed.finish + nan,
        placed.execution + nan,
        placed.waiting + nan,
        placed.turnaround + nan,
        placed.energy,
        placed.cost,
    )
    table = _table((np.where(ran, placed.gpu_fraction, 0.0), *columns), [1, 2] if short else [])
    rows = zip(table[0], np.where(ran, device, -1).tolist(), *table[1:], placed.status.tolist(), strict=True)
    return [TaskResult(*row) for row in rows]
