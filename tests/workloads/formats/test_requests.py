"""Traces of requests are read under the usual names of their columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.formats.reader import Imported
from workloads.formats.samples import REQUESTS


def _read(tmp_path: Path, text: str) -> Imported:
    (tmp_path / "trace.csv").write_text(text, encoding="utf-8")
    return reader.read_all([tmp_path / "trace.csv"])


def test_requests_arrive_their_duration_before_their_end(tmp_path: Path) -> None:
    found = _read(tmp_path, REQUESTS)
    assert (found.rows, found.skipped) == (4, {"took 0 s": 1})
    assert found.tasks.arrival_time.tolist() == [0.0, 0.75, 0.0]
    assert found.tasks.measured["cpu"].tolist() == [0.5, 0.25, 2.0]
    assert np.isinf(found.tasks.measured["gpu"]).all()
    assert found.tasks.memory_required.tolist() == [128.0, 0.0, 256.0]


@pytest.mark.parametrize(
    "text",
    [
        "arrival,duration\n3,0.5\n4.5,2\n",
        "timestamp,latency_ms\n2024-05-01 00:00:00.000,500\n2024-05-01 00:00:01.500,2000\n",
        "Timestamp_ms,Duration_us,user\n1000,500000,x\n2500,2000000,y\n",
    ],
)
def test_arrivals_and_durations_may_have_units_or_be_dates(text: str, tmp_path: Path) -> None:
    tasks = _read(tmp_path, text).tasks
    assert np.allclose(tasks.arrival_time, [0.0, 1.5])
    assert np.allclose(tasks.measured["cpu"], [0.5, 2.0])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (REQUESTS.replace("0.25,", "-0.25,"), r"line 3: duration is -0\.25, expected 0 or more"),
        (REQUESTS.replace("0.25,", "soon,"), "line 3: duration is 'soon', expected seconds or a date"),
        (REQUESTS.replace("128", "-128"), "line 2: memory is -128, expected MB, 0 or more"),
        ("arrival,duration\n-1,2\n", "line 2: arrival is -1, expected seconds, 0 or more"),
        ("arrival,duration\n1,0\n2,0\n", r"no row becomes a task \(2 took 0 s\): give a file with finished work"),
    ],
)
def test_a_wrong_line_is_named(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"trace\.csv:? {why}"):
        _read(tmp_path, text)
