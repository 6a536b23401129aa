"""Small Parquet files that claim much: a word or a number that all rows share is in the file only once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as arrow

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import parquet

ROWS, PARENTS = 1000, 2000


def bomb(path: Path, dependencies: pa.Array) -> Path:
    plain = {name: pa.array([0.5] * ROWS) for name in ("size", "compute_intensity", "memory_required")}
    arrow.write_table(pa.table({**plain, "dependencies": dependencies}), path)
    return path


def test_one_long_text_in_every_row_is_refused_before_it_is_written_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MAX_TEXT", 1 << 20)
    text = ";".join(map(str, range(PARENTS)))
    file = bomb(tmp_path / "bomb", pa.array([text] * ROWS))
    assert file.stat().st_size < 1 << 16 < ROWS * len(text) // 100
    pa.default_memory_pool().release_unused()
    before = pa.total_allocated_bytes()
    with pytest.raises(InputError, match=r"column 'dependencies' holds more than 1,048,576 letters: leave out some$"):
        parquet.read(file)
    assert pa.total_allocated_bytes() - before < 1 << 20


def test_one_long_list_in_every_row_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "MAX_LISTED", 100_000)
    file = bomb(tmp_path / "bomb", pa.array([[7] * PARENTS] * ROWS))
    assert file.stat().st_size < 1 << 16
    with pytest.raises(InputError, match=r"its lists hold more than 100,000 numbers: leave out some$"):
        parquet.read(file)
