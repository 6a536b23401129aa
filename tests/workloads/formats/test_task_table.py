"""The project's own tables hold every column of tasks, and a bad line is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import csv, parquet, reader
from hybrid_scheduler.workloads.source import compute_digest
from workloads.formats.samples import own_tasks

NEEDED = "size,compute_intensity,memory_required"


@pytest.mark.parametrize("name", ["tasks.csv", "tasks.csv.gz", "tasks.csv.zst", "tasks.parquet"])
def test_every_column_comes_back_bit_identical(name: str, tmp_path: Path) -> None:
    tasks = own_tasks()
    (parquet if name.endswith("parquet") else csv).write(tasks, tmp_path / name)
    found = reader.read(tmp_path / name)
    assert compute_digest(found) == compute_digest(tasks)
    assert found.edges.megabytes.tolist() == [0.5, 0.25, 3.0]
    assert list(found.expected) == ["cpu"]
    assert np.array_equal(found.features["bytes"], [1.0, np.nan, 3.0], equal_nan=True)


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_packed_file_written_again_is_the_same_file(ending: str, tmp_path: Path) -> None:
    one, two = tmp_path / f"one.csv.{ending}", tmp_path / f"two.csv.{ending}"
    csv.write(own_tasks(), one)
    csv.write(reader.read(one), two)
    assert one.read_bytes() == two.read_bytes()
    assert not one.read_bytes().startswith(b"task_id")


def _read(tmp_path: Path, text: str) -> Tasks:
    (tmp_path / "tasks.csv").write_text(text, encoding="utf-8")
    return csv.read(tmp_path / "tasks.csv")


@pytest.mark.parametrize("cell", ["0.5;3", "[0.5; 3]", '"[0.5, 3]"', " 0.5 ; 3.0 "])
def test_megabytes_stand_beside_the_parents_they_come_from(cell: str, tmp_path: Path) -> None:
    tasks = _read(
        tmp_path,
        f"task_id,{NEEDED},dependencies,dependency_megabytes\n1,5,0.5,1,,\n2,5,0.5,1,,\n3,5,0.5,1,1;2,{cell}\n",
    )
    assert tasks.edges.parents.tolist() == [0, 1]
    assert tasks.edges.megabytes.tolist() == [0.5, 3.0]


@pytest.mark.parametrize("cell", ["1;2", "x", "-1", "nan", "inf", "1;"])
def test_megabytes_that_do_not_fit_the_parents_are_refused_with_their_line(cell: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tasks\.csv line 3: dependency_megabytes are .*, expected 1 numbers"):
        _read(tmp_path, f"task_id,{NEEDED},dependencies,dependency_megabytes\n1,5,0.5,1,,\n2,5,0.5,1,1,{cell}\n")


def test_parquet_holds_megabytes_as_lists_too(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet as arrow

    columns = {
        **{name: [1.0, 1.0] for name in NEEDED.split(",")},
        "dependencies": [[], [0]],
        "dependency_megabytes": [None, [2.5]],
    }
    arrow.write_table(pa.table(columns), tmp_path / "tasks.parquet")
    assert parquet.read(tmp_path / "tasks.parquet").edges.megabytes.tolist() == [2.5]


# --- bad lines -------------------------------------------------------------------------------------------------

SEVEN = "\n".join([f"task_id,{NEEDED},arrival_time,dependencies", *(f"{n},5,0.5,1,0," for n in range(2, 10))]) + "\n"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("7,5,0.5,1", "there are 4 fields, expected 6"),
        ("7,5,0.5,1,0,,,", "there are 8 fields, expected 6"),
        ("3,5,0.5,1,0,", "task_id 3 appears twice"),
        ("7,5,0.5,1,0,7", "dependencies form a cycle through task 7"),
        ("7,5,0.5,1,0,99", "task 7 depends on task 99, which does not exist"),
        ("7,5,0.5,1,-1,", "arrival_time is -1, expected seconds, 0 or more"),
        ("7,-5,0.5,1,0,", "size is -5, expected a number above 0"),
        ("7,many,0.5,1,0,", "size is 'many', expected a number"),
        ("7.5,5,0.5,1,0,", "task_id is '7.5', expected a whole number"),
    ],
)
def test_a_bad_line_seven_is_named_with_what_is_wrong(line: str, why: str, tmp_path: Path) -> None:
    lines = SEVEN.splitlines()
    lines[6] = line
    with pytest.raises(InputError, match=rf"tasks\.csv line 7: {why}") as refused:
        _read(tmp_path, "\n".join(lines) + "\n")
    assert "\n" not in str(refused.value)


def test_a_line_of_another_encoding_is_named(tmp_path: Path) -> None:
    content = f"{NEEDED},note\n5,0.5,1,Köln\n".encode() + "5,0.5,1,Köln\n".encode("latin-1")
    (tmp_path / "tasks.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"tasks\.csv is not UTF-8 text in line 3: save it as UTF-8"):
        csv.read(tmp_path / "tasks.csv")
