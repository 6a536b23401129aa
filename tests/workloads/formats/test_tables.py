"""Plain tables are read with Arrow, others cell by cell, and both ways give the same tasks."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawn import examples
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import csv, etc, gavel, reader, swf, tables
from hybrid_scheduler.workloads.source import compute_digest
from workloads.formats.instances import write_file
from workloads.formats.samples import SAMPLES

NEEDED = "size,compute_intensity,memory_required"
TEXT = ("alibaba", "csv", "etc", "gavel", "kernels", "philly", "requests", "starpu", "swf")
"""Formats whose rows are text."""
SLOW_READERS = ((tables, "read_slowly"), (etc, "_read_slowly"), (gavel, "_read_slowly"), (swf, "_read_slowly"))


def _forbid(monkeypatch: pytest.MonkeyPatch, *names: tuple[object, str]) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("read cell by cell")

    for module, name in names:
        monkeypatch.setattr(module, name, refused)


@pytest.mark.parametrize("name", TEXT)
def test_cell_by_cell_gives_the_same_tasks_as_at_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = SAMPLES[name](tmp_path)
    with monkeypatch.context() as patched:
        _forbid(patched, *SLOW_READERS)
        at_once = reader.read_all(paths)

    def refuse(*_: object, **__: object) -> None:
        raise pa.ArrowInvalid("not plain")

    monkeypatch.setattr("pyarrow.csv.read_csv", refuse)
    slowly = reader.read_all(paths)
    assert compute_digest(at_once.tasks) == compute_digest(slowly.tasks)
    assert (at_once.rows, dict(at_once.skipped), at_once.cluster) == (
        slowly.rows,
        dict(slowly.skipped),
        slowly.cluster,
    )


def test_more_rows_than_the_limit_are_refused_while_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "MAX_ROWS", 100)
    monkeypatch.setattr(tables, "BLOCK", 1000)
    blocks: list[int] = []
    split_lines = tables.split_lines

    def counted(*given: Any) -> Any:
        for block in split_lines(*given):
            blocks.append(len(block))
            yield block

    monkeypatch.setattr(tables, "split_lines", counted)
    path = write_file(tmp_path / "tasks.csv", f"{NEEDED}\n" + "5,0.5,1\n" * 10_000)
    with pytest.raises(InputError, match=r"tasks\.csv has more than 100 rows, which is the limit: take a part of it"):
        csv.read(path)
    assert len(blocks) == 1  # of eighty


WORDS = "1 0 0.5 -1 +1 1e3 1e400 1e-400 nan NaN inf -inf Infinity NA na 0x10 1_0 nan(1) 007 1. .5 5.0 1d5 ٣ # é"
CELLS = st.sampled_from(
    [
        *WORDS.split(" "),
        " 1",
        "1 ",
        "",
        " ",
        '"1"',
        '"1,2"',
        '"1"2',
        '1"2',
        "\t1",
        "9" * 30,
        "0.1000000000000000055511151231257827",
    ]
) | st.floats().map(repr)


@examples(300)
@given(
    rows=st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=4),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
    tail=st.booleans(),
)
@example(rows=[["nan(1)", "1"]], ends="\n", tail=True)
@example(rows=[["1", "0x10"]], ends="\n", tail=True)
def test_the_fast_reader_gives_the_same_columns_as_the_slow_one(
    rows: list[list[str]], ends: str, tail: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "both.csv"
    lines = ["number,whole,text", *(",".join([*row, row[0]]) for row in rows)]
    path.write_bytes((ends.join(lines) + (ends if tail else "")).encode())
    types = {"number": tables.NUMBER, "whole": tables.WHOLE, "text": tables.TEXT}
    try:
        quick = {name: _comparable(each) for name, each in tables.read_table(path, lambda _: types).columns.items()}
    except InputError as error:
        quick = {"error": str(error)}
    try:
        slow: dict[str, Any] = {}
        for block in tables.read_slowly(path, lambda _: types, array("q")):
            slow = {name: _comparable(each) for name, each in block.items()}
    except InputError as error:
        slow = {"error": str(error)}
    assert quick == slow


def _comparable(column: Any) -> Any:
    return column.tobytes() if isinstance(column, np.ndarray) else [cell.strip() for cell in column.to_pylist()]


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_table_with_too_many_columns_is_refused_by_its_header(tmp_path: Path, quote: str) -> None:
    names = ["size", "compute_intensity", "memory_required", *(f"feature_{number}" for number in range(50_000))]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(quote + name + quote for name in names) + "\n" + ",".join("1" for _ in names) + "\n")
    with pytest.raises(InputError, match="there are 50,003 columns, at most 10,000"):
        csv.read(path)


def test_thousands_of_columns_are_each_looked_up_once(tmp_path: Path) -> None:
    class Counted(str):
        __hash__ = str.__hash__
        compared = 0

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, other)

    names = [Counted(f"column {number}") for number in range(5000)]
    assert tables._find_places(list(names), names) == {name: place for place, name in enumerate(names)}
    assert Counted.compared < 20 * len(names)


def test_an_error_of_a_library_in_several_lines_becomes_one() -> None:
    said = r"^x\.parquet cannot be read \(invalid thrift: no data\): check the path$"
    with pytest.raises(InputError, match=said), tables.prefix_errors("x.parquet"):
        raise OSError("invalid thrift:\n no data\n")
