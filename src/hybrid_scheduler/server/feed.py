"""`Feed`: observes a race, remembers its last tasks, and collects the news for the next frame."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from hybrid_scheduler.core.placements import Placements
from hybrid_scheduler.core.tasks import Floats
from hybrid_scheduler.live.records import PlacedBlock, TaskRecord, build_task_records
from hybrid_scheduler.live.settings import Change
from hybrid_scheduler.live.simulation import RaceEvent
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server.encoding import round_figure, round_time

RECENT = 2000  # tasks that can be found before they are stored
EXPLAINED = 500  # tasks whose explanations are kept
NEW_RECORDS, NEW_SPANS = 50, 300  # at most in one frame
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


@dataclass
class News:
    """What happened since the last frame: the newest records and spans, and the counts of all."""

    records: deque[TaskRecord] = field(default_factory=lambda: deque(maxlen=NEW_RECORDS))
    records_total: int = 0
    spans: deque[Span] = field(default_factory=lambda: deque(maxlen=NEW_SPANS))
    spans_total: int = 0
    marks: list[Change] = field(default_factory=list)


class Tail:
    """The last blocks that hold so many tasks; records are built from them on demand only."""

    def __init__(self, limit: int) -> None:
        self._limit, self._count = limit, 0
        self.blocks: deque[RaceEvent] = deque()

    def add(self, block: RaceEvent) -> None:
        """Append a block; older ones beyond the limit are dropped."""
        self.blocks.append(block)
        self._count += _count_tasks(block)
        while self._count - _count_tasks(self.blocks[0]) >= self._limit:
            self._count -= _count_tasks(self.blocks.popleft())

    def records(self, limit: int) -> list[TaskRecord]:
        """Return the last tasks with rounded figures, newest last."""
        parts: list[list[TaskRecord]] = []
        for block in reversed(self.blocks):
            if limit > 0 and block.placed:
                parts.insert(0, build_task_records(block.placed, slice(-limit, None), _round_column))
                limit -= len(parts[0])
        return [record for part in parts for record in part]

    def find(self, task_id: int) -> RecentTask | None:
        """Return a task if it is one of the last."""
        for block in reversed(self.blocks):
            if block.placed and 0 <= (row := task_id - int(block.placed.tasks.task_id[0])) < _count_tasks(block):
                return _build_recent_task(block.placed, row)
        return None


def _count_tasks(block: RaceEvent) -> int:
    return len(block.placed.tasks) if block.placed else 0


class Feed:
    """The last tasks, and the news for the next frame. Any thread may read.

    At full speed most blocks are never shown, so the race's thread only appends them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recent = Tail(RECENT)
        self._explained: dict[int, RecentTask] = {}  # by task, oldest first
        self._new, self._news = Tail(NEW_SPANS), News()

    def __call__(self, block: RaceEvent) -> None:
        """Append a block, in the race's thread."""
        with self._lock:
            self._recent.add(block)
            self._new.add(block)
            self._keep_explanations(block.placed)
            self._news.records_total += _count_tasks(block)
            self._news.spans_total += sum(_count_spans(each) for part in _parts(block) for each in part.values())
            self._news.marks.extend(block.changes)

    def _keep_explanations(self, placed: PlacedBlock | None) -> None:
        if placed and placed.explanations:
            self._explained[int(placed.tasks.task_id[0])] = _build_recent_task(placed, 0)
            if len(self._explained) > EXPLAINED:
                del self._explained[next(iter(self._explained))]

    def find_task(self, task_id: int) -> RecentTask | None:
        """Return one of the last tasks, or of the last explained ones."""
        with self._lock:
            return self._explained.get(task_id) or self._recent.find(task_id)

    def news(self) -> News:
        """Return the news since the last call."""
        with self._lock:
            news, new = self._news, self._new
            self._new, self._news = Tail(NEW_SPANS), News()
        news.records.extend(new.records(NEW_RECORDS))
        for block in new.blocks:
            for attempt, part in enumerate(_parts(block), 1):
                news.spans.extend(_build_newest_spans(part, attempt))
        return news


def _parts(block: RaceEvent) -> tuple[dict[str, Placements], dict[str, Placements]]:
    """Return what was placed, and what was restarted."""
    placed = block.placed
    return (placed.placements if placed else {}), block.restarted


def _count_spans(placed: Placements) -> int:
    return int((placed.gpu >= 0).sum() + (placed.cpu >= 0).sum())


def _build_newest_spans(placements: dict[str, Placements], attempt: int) -> list[Span]:
    # Only the newest tasks of a block can be shown, so no more are converted.
    rows_each = -(-NEW_SPANS // max(1, len(placements)))
    return [
        span
        for name, placed in placements.items()
        for span in _build_spans(name, placed, attempt, max(0, len(placed) - rows_each))
    ]


def _build_spans(name: str, placed: Placements, attempt: int, first: int) -> list[Span]:
    spans = []
    ids = placed.tasks.task_id.tolist()
    for device, start, seconds in ([getattr(placed, column).tolist() for column in share] for share in _SHARES):
        spans += [
            Span(name, device[row], start[row], start[row] + seconds[row], ids[row], attempt)
            for row in range(first, len(ids))
            if device[row] >= 0
        ]
    return spans


def _build_recent_task(placed: PlacedBlock, row: int) -> RecentTask:
    return RecentTask(
        build_task_records(placed, slice(row, row + 1))[0],
        placed.explanations if row == 0 else {},
        list(placed.devices),
    )


def _round_column(name: str, column: Floats) -> list[float]:
    round_value = round_time if name in _TIMES else round_figure
    return [round_value(each) for each in column.tolist()]
