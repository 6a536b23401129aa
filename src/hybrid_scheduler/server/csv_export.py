"""A running export of all results as CSV, for those who follow a race with other tools; old files are moved aside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from itertools import repeat
from pathlib import Path

import numpy as np

from hybrid_scheduler.storage.rows import ResultRows

MAX_BYTES, KEPT_FILES = 10_000_000, 5
COLUMNS = ("run_id", *(each.name for each in fields(ResultRows)))


class CsvExport:
    """Appends results to a file; a full one becomes `file.1`, that one `file.2`, the oldest is deleted."""

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self.path, self._max_bytes = path, max_bytes
        path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, run_id: int, results: Iterable[ResultRows]) -> None:
        """Append a line for every result."""
        lines = [line for rows in results for line in _to_lines(run_id, rows)]
        if not lines:
            return
        if self.path.exists() and self.path.stat().st_size > self._max_bytes:
            self._rotate()
        is_new = not self.path.exists()
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines([",".join(COLUMNS) + "\n"] * is_new + lines)

    def _rotate(self) -> None:
        for number in range(KEPT_FILES, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            newer = self.path.with_name(f"{self.path.name}.{number - 1}") if number > 1 else self.path
            if newer.exists():
                newer.replace(older)


def _to_lines(run_id: int, rows: ResultRows) -> Iterable[str]:
    columns = [getattr(rows, name) for name in COLUMNS[1:]]
    lists = [each.tolist() if isinstance(each, np.ndarray) else each for each in columns]
    spread = [each if isinstance(each, list) else repeat(each, len(rows)) for each in lists]
    for values in zip(repeat(run_id, len(rows)), *spread, strict=True):
        yield ",".join("" if value != value else str(value) for value in values) + "\n"
