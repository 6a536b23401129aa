"""Tables of GPU jobs are read under the usual names of their columns."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader
from hybrid_scheduler.workloads.formats.reader import Imported
from workloads.formats.samples import PHILLY


def _read(tmp_path: Path, text: str) -> Imported:
    (tmp_path / "trace.csv").write_text(text, encoding="utf-8")
    return reader.read_all([tmp_path / "trace.csv"])


def test_a_job_of_four_gpus_is_four_tasks_on_gpus(tmp_path: Path) -> None:
    found = _read(tmp_path, PHILLY)
    assert (found.rows, found.skipped) == (5, {"duration not known": 1, "ran for 0 s": 1})
    assert found.tasks.measured["gpu"].tolist() == [120.0, *[30.5] * 4, math.inf]
    assert found.tasks.measured["cpu"].tolist() == [math.inf] * 5 + [60.0]
    assert found.tasks.arrival_time.tolist() == [0.0, *[60.0] * 4, 240.0]


@pytest.mark.parametrize(
    "text",
    [
        "job_id,user,gpu_num,state,submit_time,start_time,end_time\n1,u,2,COMPLETED,0,10,20\n2,u,1,FAILED,5,6,36\n",
        "Job ID,Num GPUs,Submit Time,Duration\n1,2,2020-01-01T00:00:00,10\n2,1,2020-01-01T00:00:05,30\n",
        "id,gpus,submitted_at,run_time_ms\n1,2,2020-01-01T00:00:00Z,10000\n2,1,2020-01-01T00:00:05Z,30000\n",
        "id,gpus,submitted,duration\n1,2,2020-01-01 01:00:00+01:00,10\n2,1,2020-01-01 00:00:05,30\n",
        'id,gpus,submitted,duration\n"1","2","100","10"\n"2","1","105","30"\n',
    ],
)
def test_columns_may_go_by_the_usual_names_and_units(text: str, tmp_path: Path) -> None:
    tasks = _read(tmp_path, text).tasks
    assert np.allclose(tasks.measured["gpu"], [10.0, 10.0, 30.0])
    assert tasks.arrival_time.tolist() == [0.0, 0.0, 5.0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            PHILLY.replace("08:04:00", "8 o'clock"),
            "line 6: submitted_time is '2017-10-03 8 o'clock', expected seconds",
        ),
        (PHILLY.replace("30.5,4", "-30.5,4"), r"line 3: duration is -30\.5, expected seconds, 0 or more"),
        (PHILLY.replace("30.5,4", "30.5,-4"), "line 3: num_gpus is -4, expected a whole number from 0"),
        (PHILLY.replace("30.5,4", "30.5,4,5"), "line 3: there are 8 fields, expected 7"),
    ],
)
def test_a_wrong_line_is_named(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"trace\.csv:? {why}"):
        _read(tmp_path, text)


def test_jobs_know_their_users(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    text = "job,user,gpus,submitted,duration\n1,zoe,2,0,10\n2,,1,5,30\n3,ann,1,6,0\n4,zoe,1,7,8\n"
    path.write_text(text, encoding="utf-8")
    jobs = reader.read_jobs([path]).jobs
    assert [jobs.name_user(user) for user in jobs.user.tolist()] == ["zoe", "not known", "zoe"]
