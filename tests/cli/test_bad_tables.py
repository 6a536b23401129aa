"""A table of tasks that cannot be used ends in one line that names the file, the line and what to do."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from helpers_cli import files_in, hms, refused

HEADER = "task_id,size,compute_intensity,memory_required,arrival_time,dependencies,duration_estimate,time_gpu\n"
FIRST = "0,100,0.5,10,0.0,,0.25,\n"

REJECTED = {
    "a missing column": ("size,memory_required\n1,2\n", ["'compute_intensity' is missing", "found size, memory"]),
    "several missing columns": ("a,b\n1,2\n", ["'size' is missing", "needed are size, compute_intensity"]),
    "a negative size": (HEADER + FIRST + "1,-5,0.5,10,0,,,\n", ["line 3", "size is -5", "above 0"]),
    "a size of zero": (HEADER + "1,0,0.5,10,0,,,\n", ["line 2", "size is 0", "above 0"]),
    "an infinite size": (HEADER + "1,inf,0.5,10,0,,,\n", ["line 2", "size is inf", "above 0"]),
    "a size beyond all measure": (HEADER + "1,1e300,0.5,10,0,,,\n", ["line 2", "size is 1e+300", "at most 1e+12"]),
    "an intensity of 1.5": (HEADER + FIRST + "1,5,1.5,10,0,,,\n", ["line 3", "intensity is 1.5", "from 0 to 1"]),
    "an intensity of -0.5": (HEADER + "1,5,-0.5,10,0,,,\n", ["line 2", "intensity is -0.5", "from 0 to 1"]),
    "negative memory": (HEADER + "1,5,0.5,-1,0,,,\n", ["line 2", "memory_required is -1", "0 or more"]),
    "a negative arrival": (HEADER + "1,5,0.5,1,-1,,,\n", ["line 2", "arrival_time is -1", "0 or more"]),
    "a duration of zero": (HEADER + "1,5,0.5,1,0,,0,\n", ["line 2", "duration_estimate is 0", "above 0"]),
    "a measured time of zero": (HEADER + "1,5,0.5,1,0,,,0\n", ["line 2", "time_gpu is 0", "above 0"]),
    "NaN": (HEADER + FIRST + "1,NaN,0.5,10,0,,,\n", ["line 3", "size is nan", "above 0"]),
    "an empty cell": (HEADER + FIRST + "1,5,,10,0,,,\n", ["line 3", "compute_intensity is nan", "from 0 to 1"]),
    "an empty arrival": (HEADER + FIRST + "1,5,0.5,10,,,,\n", ["line 3", "arrival_time is nan"]),
    "text in a number column": (HEADER + FIRST + "1,big,0.5,10,0,,,\n", ["line 3", "size is 'big'", "a number"]),
    "text in every number cell": (HEADER + "1,a,b,c,0,,,\n", ["line 2", "size is 'a'", "a number"]),
    "a word that is a boolean": (HEADER + "1,True,0.5,10,0,,,\n", ["line 2", "size is 'True'", "a number"]),
    "a blank line": (HEADER + FIRST + "\n" + "1,5,0.5,10,0,,,\n", ["line 3"]),
    "too many fields in a later line": (HEADER + FIRST + "1,5,0.5,10,0,,,,9\n", ["line 3", "9 fields", "expected 8"]),
    "too many fields in the first line": (HEADER + "1,5,0.5,10,0,,,,9\n", ["line 2", "9 fields", "expected 8"]),
    "too many fields in every line": (
        "size,compute_intensity,memory_required\n1,100,0.5,10\n2,200,0.5,10\n",
        ["line 2", "4 fields", "expected 3"],
    ),
    "too few fields for a needed column": (HEADER + FIRST + "1,5\n", ["line 3"]),
    "too few fields for other columns": (HEADER + FIRST + "1,5,0.5,10,0\n", ["line 3", "5 fields", "expected 8"]),
    "a column that appears twice": ("size,size,compute_intensity,memory_required\n5,6,0.5,10\n", ["size"]),
    "a cycle": (HEADER + "7,5,0.5,1,0,8,,\n8,5,0.5,1,0,7,,\n", ["line 2", "cycle through task 7", "remove"]),
    "a task that waits for itself": (HEADER + FIRST + "8,5,0.5,1,0,8,,\n", ["line 3", "cycle through task 8"]),
    "an unknown parent": (HEADER + FIRST + "1,5,0.5,1,0,0;99,,\n", ["line 3", "task 1 depends on task 99", "add"]),
    "a parent that is no id": (HEADER + FIRST + "1,5,0.5,1,0,x,,\n", ["line 3", "dependencies are 'x'", "1;2"]),
    "a parent id of 5000 digits": (HEADER + FIRST + f"1,5,0.5,1,0,0;{'9' * 5000},,\n", ["line 3", "depend"]),
    "a duplicate id": (HEADER + FIRST + "0,5,0.5,1,0,,,\n", ["line 3", "task_id 0 appears twice", "unique"]),
    "an id that is no whole number": (HEADER + "0.5,5,0.5,1,0,,,\n", ["line 2", "task_id is '0.5'", "whole"]),
    "an empty id": (HEADER + FIRST + ",5,0.5,1,0,,,\n", ["line 3", "task_id", "whole number"]),
    "only a header": (HEADER, ["no tasks, only a header", "add a line"]),
    "an empty file": ("", ["is empty", "header line"]),
    "only line ends": ("\n\n\n", ["tasks.csv"]),
    "an unclosed quote": (HEADER + '"1,5,0.5,10,0,,,\n', ["tasks.csv"]),
    "measured times of another cluster": (
        "size,compute_intensity,memory_required,time_tpu\n5,0.5,1,3\n",
        ["measured times of tpu", "the cluster has cpu, gpu", "name the cluster's classes"],
    ),
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", REJECTED)
def test_a_bad_table_is_refused_in_one_line_that_names_file_and_line(name: str, tmp_path: Path) -> None:
    text, says = REJECTED[name]
    (tmp_path / "tasks.csv").write_text(text, encoding="utf-8")
    before = files_in(tmp_path)
    finished = hms(
        "compare", "tasks.csv", "-s", "eft", "--seeds", "2", "--out", "run", "--plot", "figure.png", "--json"
    )
    refused(finished, "tasks.csv" if "measured" not in name else "", *says)
    assert files_in(tmp_path) == before


@pytest.mark.parametrize("command", ["compare", "bound", "capacity"])
def test_every_command_that_reads_tasks_refuses_a_bad_table_alike(command: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text(HEADER + FIRST + "1,5,1.5,10,0,,,\n", encoding="utf-8")
    refused(hms(command, "tasks.csv"), "tasks.csv line 3", "compute_intensity is 1.5", "correct or drop this row")


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "random bytes": bytes(range(256)) * 4,
        "zeros": b"\x00" * 1000,
        "a picture": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff\xd8\xff\xe0",
        "text in UTF-16": HEADER.encode("utf-16"),
        "a table with one broken byte": (HEADER + FIRST).encode() + b"1,5,0.5,10,0,\xff,,\n",
    }.items(),
)
def test_a_binary_file_is_refused_in_one_line_that_names_it(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_bytes(content)
    refused(hms("compare", "tasks.csv", "--seeds", "1", "--out", "run"), "tasks.csv")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz", "zip", "zst", "tar"])
def test_a_file_that_only_pretends_to_be_compressed_is_refused_in_one_line(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"tasks.csv.{ending}").write_bytes(b"\x1f\x8bPK\xff\xfe\x00 neither text nor an archive")
    finished = hms("compare", f"tasks.csv.{ending}", "--seeds", "1")
    refused(finished, f"tasks.csv.{ending}")
    assert "None" not in finished.err


def test_an_archive_of_two_tables_is_refused_in_one_line(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "tasks.zip", "w") as archive:
        archive.writestr("a.csv", HEADER + FIRST)
        archive.writestr("b.csv", HEADER + FIRST)
    refused(hms("compare", "tasks.zip", "--seeds", "1"), "tasks.zip")


def test_a_missing_file_is_named_with_a_command_that_makes_one() -> None:
    refused(hms("compare", "missing.csv"), "missing.csv does not exist", "hms generate")


def test_a_missing_file_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    refused(hms("bound", "no/such/tasks"), "no/such/tasks does not exist", "check the path")


@pytest.mark.parametrize("name", ["folder", "folder.csv", "some/folder"])
def test_a_directory_instead_of_a_file_is_called_a_directory(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir(parents=True)
    finished = hms("compare", name)
    refused(finished, name, "director")
    assert "does not exist" not in finished.err


def test_a_cell_of_many_blanks_is_refused_without_a_long_search(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text(f"{HEADER}{FIRST}1,5,0.5,1,0,0{' ' * 3000}x,,\n", encoding="utf-8")
    refused(hms("compare", "tasks.csv", "--seeds", "1"), "tasks.csv line 3", "dependencies")


def test_a_line_number_counts_the_lines_of_the_file_even_after_a_cell_with_line_ends(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text(
        'note,size,compute_intensity,memory_required\n"two\nlines",5,0.5,1\nx,-5,0.5,1\n', encoding="utf-8"
    )
    refused(hms("compare", "tasks.csv", "--seeds", "1"), "tasks.csv line 4", "size is -5")


def test_a_file_name_with_square_brackets_is_printed_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "tasks[red].csv").write_text("size,compute_intensity,memory_required\n5,0.5,1\n", encoding="utf-8")
    finished = hms("compare", "tasks[red].csv", "-s", "eft", "--seeds", "1")
    assert finished.code == 0
    assert finished.out.startswith("tasks[red].csv: 1 task")


def test_a_good_table_next_to_the_bad_ones_is_compared(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text(HEADER + FIRST + "1,5,0.5,10,0.1,0,,2.5\n", encoding="utf-8")
    finished = hms("compare", "tasks.csv", "-s", "eft", "--seeds", "1")
    assert finished.code == 0
    assert finished.out.startswith("tasks.csv: 2 tasks")
