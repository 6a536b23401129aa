"""ETC matrices: how many machines there are is told or seen, and bounds are those that others computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import reader
from workloads.formats.instances import etc_file, write_file
from workloads.formats.real_data import DATA, needs_data


def test_a_first_line_tells_tasks_and_machines(tmp_path: Path) -> None:
    found = reader.read_all(etc_file(tmp_path))
    times = np.column_stack(list(found.tasks.measured.values()))
    assert times.tolist() == [[1, 2.5, 3, 4], [4.5, 3, 2, 1], [2, np.inf, 7, 1000]]
    assert list(found.tasks.measured) == ["m00", "m01", "m02", "m03"]
    assert found.tasks.duration_estimate.tolist() == [2.625, 2.625, 1009 / 3]


def test_every_machine_is_a_node_with_one_device_and_data_moves_in_no_time(tmp_path: Path) -> None:
    cluster = reader.read_all(etc_file(tmp_path)).cluster
    assert cluster is not None
    assert [dict(node.devices) for node in cluster.nodes] == [{"m00": 1}, {"m01": 1}, {"m02": 1}, {"m03": 1}]
    assert cluster.network == np.inf


@pytest.mark.parametrize(
    ("content", "shape"),
    [
        ("1 2 3\n4 5 6\n", (2, 3)),
        ("2 3\n1\n2\n3\n4\n5\n6\n", (2, 3)),
        ("2 2\n1 2\n3 4\n", (2, 2)),
        ("1 2\n3 4\n5 6\n", (3, 2)),
        ("\n".join(map(str, range(1, 33))), (2, 16)),
        ("1.5 2.5\r\n\r\n3.5 4.5\r\n", (2, 2)),
    ],
    ids=["table", "one a line, told", "table, told", "table of two", "one a line, sixteen", "with blank lines"],
)
def test_the_number_of_machines_is_told_or_seen(content: str, shape: tuple[int, int], tmp_path: Path) -> None:
    found = reader.read_all([write_file(tmp_path / "some.etc", content)])
    assert (len(found.tasks), len(found.tasks.measured)) == shape
    assert found.rows == found.used == shape[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1 2 3\n4 5\n7 8 9\n", "line 2: there are 2 numbers, expected 3 as in the first line"),
        ("1\n2\n3\n", "3 numbers are no rows of 16 machines: begin with a line 'tasks machines'"),
        ("1 2 3\n4 5 x\n", "line 2: 'x' is no number"),
        ("1 2 3\n4 nan 5\n", "line 2: 'nan' is no number"),
        ("1 2 3\n4 -5 6\n", "task 2: time_m01 is -5"),
        ("\n\n", "there are no numbers"),
    ],
)
def test_what_is_no_matrix_is_refused_with_its_line(content: str, said: str, tmp_path: Path) -> None:
    path = write_file(tmp_path / "bad.etc", content)
    with pytest.raises(InputError, match=said) as refused:
        reader.read_all([path], "etc")
    assert str(refused.value).startswith(str(path))


def test_jobs_in_the_standard_workload_format_are_no_matrix() -> None:
    assert not reader.load_format("etc").sniff(b"1 0 5 60 4 -1 -1 4 90 -1 1 3 5 -1 1 -1 -1 -1\n" * 3)


@needs_data
@pytest.mark.parametrize("name", [f"u_{c}_{h}.0" for c in "ci" for h in ("hihi", "hilo", "lohi", "lolo")])
def test_brauns_files_are_512_tasks_on_16_machines(name: str) -> None:
    path = DATA / "braun_etc" / name
    found = reader.read_all([path])
    assert (found.rows, found.used, len(found.tasks.measured)) == (512, 512, 16)
    times = np.column_stack(list(found.tasks.measured.values()))
    assert times.ravel().tolist() == np.loadtxt(path).tolist()


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


@pytest.mark.parametrize(
    "text",
    [
        "1.5,4\n2, 2\n5,1\n",
        "3,2\n1.5,4\n2,2\n5,1\n",
        "1.5,4,\r\n2,2,\r\n5,1,\r\n",
        "job,m1,m2\nj1,1.5,4\nj2,2,2\nj3,5,1\n",
        "M1,M2\n1.5,4\n2,2\n5,1\n",
    ],
    ids=["plain", "with its shape", "commas at the end", "with names", "with names of machines"],
)
def test_numbers_may_stand_between_commas(text: str, tmp_path: Path) -> None:
    path = write_file(tmp_path / "instance.csv", text)
    assert reader.detect_format(path).name == "etc"
    tasks = reader.read(path)
    assert tasks.measured["m00"].tolist() == [1.5, 2.0, 5.0]
    assert tasks.measured["m01"].tolist() == [4.0, 2.0, 1.0]


def test_a_gap_between_commas_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2: there is no number between two commas"):
        reader.read_all([write_file(tmp_path / "instance.csv", "1,4,2\n2,,2\n")], "etc")
