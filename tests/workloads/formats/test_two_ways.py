"""What is plain is read at once, anything else cell by cell, and both give the same tasks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import checked, documents, etc, gavel, reader, swf
from hybrid_scheduler.workloads.source import digest_of
from workloads.formats.instances import gavel_file, written
from workloads.formats.samples import SAMPLES

TEXT = ("alibaba", "csv", "etc", "gavel", "kernels", "philly", "requests", "starpu", "swf")
"""Formats whose rows are text."""
CAREFUL = (
    (checked, "blocks"),
    (documents, "_careful_sheet"),
    (etc, "_careful"),
    (gavel, "_careful"),
    (swf, "_careful"),
)


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
        _forbid(patched, *CAREFUL)
        at_once = reader.read_all(paths)

    def doubted(*_: object, **__: object) -> None:
        raise pa.ArrowInvalid("not plain")

    monkeypatch.setattr("pyarrow.csv.read_csv", doubted)
    slowly = reader.read_all(paths)
    assert digest_of(at_once.tasks) == digest_of(slowly.tasks)
    assert (at_once.rows, dict(at_once.skipped), at_once.cluster) == (
        slowly.rows,
        dict(slowly.skipped),
        slowly.cluster,
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [("\n", "\r\n"), ("\n", "\n\n"), ("3000", " 3000 "), ("3000", "3_000"), ("\n", "\n \n")],
    ids=["other ends", "empty lines", "blanks", "underscores", "lines of blanks"],
)
def test_a_trace_that_is_written_otherwise_gives_the_same_jobs(old: str, new: str, tmp_path: Path) -> None:
    trace, rates = gavel_file(tmp_path)
    other = written(tmp_path / "other.trace", "")
    other.write_bytes(trace.read_text(encoding="utf-8").replace(old, new).encode())
    assert digest_of(reader.read_all([other, rates]).tasks) == digest_of(reader.read_all([trace, rates]).tasks)


@pytest.mark.parametrize(
    ("content", "shape"),
    [
        ("2 3\n 1  2\t3\n4 5 6 \n", (2, 3)),
        ("2 3\n1 2 3 4\n5 6\n", (2, 3)),
        ("1 2 3\r4 5 6\n7 8 9 10 11 12\n", (2, 6)),
        ("inf 2 3\n1e2 Infinity 5\n", (2, 3)),
    ],
    ids=["blanks of all kinds", "told, in lines of any length", "a mark inside a line", "what cannot run"],
)
def test_a_matrix_may_be_laid_out_in_several_ways(content: str, shape: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "some.etc"
    path.write_bytes(content.encode())
    tasks = reader.read_all([path], "etc").tasks
    assert (len(tasks), len(tasks.measured)) == shape


def test_a_line_far_down_a_trace_is_named(tmp_path: Path) -> None:
    trace, rates = gavel_file(tmp_path)
    good = trace.read_text(encoding="utf-8").split("\n")[0]
    written(trace, f"{good}\n" * 20_000 + good.replace("3000", "0") + "\n")
    with pytest.raises(InputError, match=r"jobs.trace line 20001: total_steps is '0', expected a number from 1 on$"):
        reader.read_all([trace, rates])
