"""`Feed`: a sink that folds what happened since the last frame, for everyone who watches."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hybrid_scheduler.engine.live_race import Placed
from hybrid_scheduler.engine.settings import Change
from hybrid_scheduler.engine.simulation import Block
from hybrid_scheduler.engine.snapshot import TaskRecord, TaskResult
from hybrid_scheduler.model.placements import Placements

RECENT = 2000  # records that are remembered
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

    def records(self) -> list[TaskRecord]:
        """Return the last tasks, newest last."""
        made = [records_of(block.placed) for block in self.blocks if block.placed]
        return [record for records in made for record in records][-self._most :]


def _tasks(block: Block) -> int:
    return len(block.placed.tasks) if block.placed else 0


class Feed:
    """Remembers the last tasks, and the news for the next frame. Any thread may read.

    At full speed most blocks are never looked at, so the race's thread only keeps them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: deque[TaskRecord] = deque(maxlen=RECENT)  # that came from elsewhere
        self._recent = Tail(RECENT)
        self._new, self._news = Tail(NEW_SPANS), News()

    def __call__(self, block: Block) -> None:
        """Take a block, in the race's thread."""
        with self._lock:
            self._recent.add(block)
            self._new.add(block)
            self._news.records_total += _tasks(block)
            self._news.spans_total += sum(_shares(each) for part in _parts(block) for each in part.values())
            self._news.marks.extend(block.changes)

    def add(self, records: list[TaskRecord]) -> None:
        """Take records that come from elsewhere."""
        with self._lock:
            self._told.extend(records)

    def recent(self) -> list[TaskRecord]:
        """Return the last tasks, newest last."""
        with self._lock:
            return list(self._told) or self._recent.records()

    def news(self) -> News:
        """Return what is new since this was asked last."""
        with self._lock:
            news, new = self._news, self._new
            self._new, self._news = Tail(NEW_SPANS), News()
        news.records.extend(new.records())
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


def records_of(placed: Placed) -> list[TaskRecord]:
    """Return the tasks of a block and what all schedulers made of them, column by column for speed."""
    tasks = placed.tasks
    columns = (tasks.task_id, tasks.size, tasks.compute_intensity, tasks.memory_required, tasks.arrival_time)
    labels = (placed.optimal_gpu_fraction, placed.optimal_time)
    made = {name: _results(each) for name, each in placed.placements.items()}
    results = [{name: each[row] for name, each in made.items()} for row in range(len(tasks))]
    rows = zip(*(column.tolist() for column in (*columns, *labels)), results, strict=True)
    return [TaskRecord(*row) for row in rows]


def _results(placed: Placements) -> list[TaskResult]:
    ran = placed.ran
    device = np.where(placed.gpu >= 0, placed.gpu, placed.cpu)
    nan = np.where(ran, 0.0, np.nan)  # added to a figure, it leaves rejected tasks without one
    columns = (
        np.where(ran, placed.gpu_fraction, 0.0),
        np.where(ran, device, -1),
        placed.start + nan,
        placed.finish + nan,
        placed.execution + nan,
        placed.waiting + nan,
        placed.turnaround + nan,
        placed.energy,
        placed.cost,
        placed.status,
    )
    return [TaskResult(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
