"""Logs in the Standard Workload Format become tasks on the machine of their header."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader, swf
from hybrid_scheduler.workloads.formats.reader import Imported
from hybrid_scheduler.workloads.formats.tables import NotPlainError
from workloads.formats.samples import SWF, swf_file


def _read(tmp_path: Path, text: str) -> Imported:
    (tmp_path / "log.swf").write_text(text, encoding="utf-8")
    return reader.read_all([tmp_path / "log.swf"])


def test_a_job_is_a_task_whose_work_is_kept(tmp_path: Path) -> None:
    tasks = _read(tmp_path, SWF).tasks
    assert tasks.task_id.tolist() == [1, 2, 6]
    assert tasks.arrival_time.tolist() == [0.0, 10.0, 50.0]
    # Four processors a node: 100 s on 4 take a whole node 100 s, 50 s on 8 take it 100 s, 10 s on 3 take it 7.5 s.
    assert tasks.measured["cpu"].tolist() == [100.0, 100.0, 7.5]
    assert np.isinf(tasks.measured["gpu"]).all()


@pytest.mark.parametrize("read", [reader.read_all, reader.read_jobs])
def test_work_beyond_all_measure_is_refused_in_one_line_without_a_warning(tmp_path: Path, read: Any) -> None:
    (tmp_path / "log.swf").write_text(
        SWF + "9 60 5 1e200 1e200 90 -1 1e308 200 -1 1 1 1 1 1 -1 -1 -1\n", encoding="utf-8"
    )
    with pytest.raises(InputError, match=r"log\.swf") as refused:
        read([tmp_path / "log.swf"])
    assert "\n" not in str(refused.value)


def test_what_was_asked_for_is_what_policies_are_told(tmp_path: Path) -> None:
    tasks = _read(tmp_path, SWF).tasks
    assert np.array_equal(tasks.expected["cpu"], [200.0, math.nan, 15.0], equal_nan=True)
    assert np.array_equal(tasks.features["requested_time"], [200.0, math.nan, 20.0], equal_nan=True)
    assert tasks.size.tolist() == [4.0, 8.0, 3.0]
    assert tasks.memory_required.tolist() == [4.0, 0.0, 0.0]  # 1 MB for each of four processors


def test_jobs_that_did_no_work_are_skipped_and_counted(tmp_path: Path) -> None:
    found = _read(tmp_path, SWF)
    assert found.rows == 7
    assert found.skipped == {"failed": 1, "cancelled": 1, "ran for 0 s": 1, "run time not known": 1}


def test_the_header_gives_the_cluster(tmp_path: Path) -> None:
    found = _read(tmp_path, SWF)
    assert found.cluster is not None
    assert found.cluster.describe() == "4 nodes: 4 cpu"
    found = _read(tmp_path, SWF.replace("; MaxNodes: 4\n", ""))
    assert found.cluster is not None
    assert found.cluster.describe() == "16 nodes: 16 cpu"
    assert found.tasks.measured["cpu"].tolist() == [400.0, 400.0, 30.0]
    assert _read(tmp_path, SWF[SWF.index("1   10") :]).cluster is None


def test_parts_of_a_job_are_not_counted_twice(tmp_path: Path) -> None:
    part = "1 10 5 40 4 90 -1 4 200 -1 {} 1 1 1 1 -1 -1 -1\n"
    found = _read(tmp_path, SWF + part.format(2) + part.format(3))
    assert found.skipped["part of a job that has a line of its own"] == 2


@pytest.mark.parametrize("change", [("\n", "\r\n"), ("   ", "\t"), ("\n1 ", "\n  1 "), ("\n2 ", "\n; later\n\n2 ")])
def test_blanks_line_ends_and_comments_do_not_matter(change: tuple[str, str], tmp_path: Path) -> None:
    assert _read(tmp_path, SWF.replace(*change)).tasks.task_id.tolist() == [1, 2, 6]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (("3   30  5  60", "3   30  5"), "line 7: there are 17 fields, expected 18"),
        (("3   30  5  60", "3   30  5  sixty"), "line 7: 'sixty' is no number: write -1 for what is not known"),
        (("3   30  5  60", "3   30  5  nan"), "line 7: 'nan' is no number"),
        (("3   30  5  60", "3   30  5  -7"), "line 7: run_time is -7, expected 0 or more, or -1 for unknown"),
        (("\n6 ", "\n2 "), "line 10: task_id 2 appears twice"),
        (("\n6 ", "\n6.5 "), r"line 10: job is 6\.5, expected a whole number"),
    ],
)
def test_a_wrong_line_is_named(change: tuple[str, str], why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"log\.swf {why}"):
        _read(tmp_path, SWF.replace(*change, 1))


def test_the_fast_reader_gives_the_same_fields_as_the_slow_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = swf_file(tmp_path)[0]
    fast = swf.read_jobs(path)

    def refuse(_: Path) -> None:
        raise NotPlainError

    monkeypatch.setattr(swf, "_read_fast", refuse)
    slow = swf.read_jobs(path)
    assert all(np.array_equal(fast.numbers(name), slow.numbers(name)) for name in swf.USED)
