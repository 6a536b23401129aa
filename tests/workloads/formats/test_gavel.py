"""Gavel's jobs: seconds are steps over throughput, and jobs that the model cannot hold are skipped for a reason."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import gavel, reader
from hybrid_scheduler.workloads.source import compute_digest
from workloads.formats.instances import gavel_file, write_file


def test_seconds_are_steps_over_throughput_on_every_type_of_gpu(tmp_path: Path) -> None:
    tasks = reader.read_all(gavel_file(tmp_path)).tasks
    assert list(tasks.measured) == ["cpu", "v100", "k80"]
    assert tasks.measured["v100"].tolist() == [100.0, 100.0, *[1.0] * 4]
    assert tasks.measured["k80"].tolist() == [300.0, np.inf, *[np.inf] * 4]
    assert np.isinf(tasks.measured["cpu"]).all()
    assert tasks.arrival_time.tolist() == [0.0, 12.5, *[20.0] * 4]
    assert tasks.duration_estimate.tolist() == [200.0, 100.0, *[1.0] * 4]


def test_names_of_jobs_tell_the_batch_size_and_the_model(tmp_path: Path) -> None:
    features = reader.read_all(gavel_file(tmp_path)).tasks.features
    assert features["batch_size"].tolist() == [128.0, 80.0, *[128.0] * 4]
    assert features["model"].tolist() == [1.0, 0.0, *[1.0] * 4]


def test_a_job_of_several_gpus_takes_as_many_at_the_throughput_of_its_scale(tmp_path: Path) -> None:
    found = reader.read_all(gavel_file(tmp_path))
    assert (found.rows, found.used, len(found.tasks)) == (4, 3, 6)
    assert found.tasks.features["scale"].tolist() == [1.0, 1.0, *[4.0] * 4]
    # 100 steps at 100 a second on four V100: a second on each, not 100 / 30.
    assert found.tasks.measured["v100"][2:].tolist() == [1.0] * 4


def test_jobs_of_unknown_types_or_scales_are_skipped(tmp_path: Path) -> None:
    assert dict(reader.read_all(gavel_file(tmp_path)).skipped) == {gavel.UNKNOWN: 1}


def test_the_cluster_is_that_of_gavels_authors(tmp_path: Path) -> None:
    cluster = reader.read_all(gavel_file(tmp_path)).cluster
    assert cluster is not None
    assert cluster.shape == {"cpu": 2, "v100": 36, "k80": 36}


@pytest.mark.parametrize(
    "line",
    [
        "A3C\tpython3 main.py\t--max-steps\t0\t60\t7.0\t1",
        "A3C\tpython3 main.py\t--max-steps\t0\t60\t1\t1.0\t-1.0\t7.0",
        "A3C\tpython3 main.py\trl\t--max-steps\t0\t60\t1\t1.0\t-1.0\t7.0",
    ],
    ids=["7 fields", "9 fields", "10 fields"],
)
def test_traces_of_three_generations_are_read(line: str, tmp_path: Path) -> None:
    rates = {"v100": {"('A3C', 1)": {"null": 6.0}}}
    paths = [write_file(tmp_path / "t.trace", f"{line}\n"), write_file(tmp_path / "r.json", json.dumps(rates))]
    found = reader.read_all(paths)
    assert found.tasks.measured["v100"].tolist() == [10.0]
    assert found.tasks.arrival_time.tolist() == [7.0]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("\t500\t", "\tmany\t", r"jobs.trace line 2: total_steps is 'many'"),
        ("\t12.5", "\t-1", r"jobs.trace line 2: arrival_time is '-1', expected a number from 0 on"),
        ("\t12.5", "", "jobs.trace line 2: there are 9 fields, expected 10"),
        ("\t4\t1.0", "\t4\t1.0\t1\t2", "jobs.trace line 3: there are 12 fields, expected 10"),
    ],
)
def test_a_line_that_is_no_job_is_refused(old: str, new: str, said: str, tmp_path: Path) -> None:
    trace, rates = gavel_file(tmp_path)
    write_file(trace, trace.read_text(encoding="utf-8").replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        reader.read_all([trace, rates])


def test_a_trace_without_its_throughputs_is_refused(tmp_path: Path) -> None:
    trace, rates = gavel_file(tmp_path)
    for alone in (trace, rates):
        with pytest.raises(InputError, match=r"tables of throughputs: give one of each"):
            reader.read_all([alone])


@pytest.mark.parametrize(
    ("old", "new"),
    [("\n", "\r\n"), ("\n", "\n\n"), ("3000", " 3000 "), ("3000", "3_000"), ("\n", "\n \n")],
    ids=["other ends", "empty lines", "blanks", "underscores", "lines of blanks"],
)
def test_a_trace_that_is_written_otherwise_gives_the_same_jobs(old: str, new: str, tmp_path: Path) -> None:
    trace, rates = gavel_file(tmp_path)
    other = write_file(tmp_path / "other.trace", "")
    other.write_bytes(trace.read_text(encoding="utf-8").replace(old, new).encode())
    assert compute_digest(reader.read_all([other, rates]).tasks) == compute_digest(
        reader.read_all([trace, rates]).tasks
    )


def test_a_line_far_down_a_trace_is_named(tmp_path: Path) -> None:
    trace, rates = gavel_file(tmp_path)
    good = trace.read_text(encoding="utf-8").split("\n")[0]
    write_file(trace, f"{good}\n" * 20_000 + good.replace("3000", "0") + "\n")
    with pytest.raises(InputError, match=r"jobs.trace line 20001: total_steps is '0', expected a number from 1 on$"):
        reader.read_all([trace, rates])
