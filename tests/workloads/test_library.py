"""The library keeps uploaded files whole, knows them by their SHA-256, and never leaves its folder."""

from __future__ import annotations

import gzip
import io
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from pyarrow import parquet

from drawn import examples
from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.workloads import WorkloadGenerator, library
from hybrid_scheduler.workloads.formats import csv, reader, unpack
from hybrid_scheduler.workloads.library import ABOUT, FILE, Library, is_upload, parse_name
from hybrid_scheduler.workloads.source import compute_digest
from workloads.formats.samples import SAMPLES, swf_file

LINES = "size,compute_intensity,memory_required,arrival_time\n100,0.5,10,0\n200,0.1,20,1.5\n300,0.9,30,2\n"


def add(library: Library, name: str, content: str | bytes = LINES) -> None:
    with library.add(name) as place:
        place.write_bytes(content.encode() if isinstance(content, str) else content)


@pytest.fixture
def shelf(tmp_path: Path) -> Library:
    return Library(tmp_path / "workloads")


def test_a_file_is_kept_with_what_is_known_about_it(shelf: Library) -> None:
    assert shelf.entries() == ([], [])
    add(shelf, "trace.csv")
    (entry,), problems = shelf.entries()
    assert problems == []
    assert (entry.name, entry.format, entry.tasks, entry.bytes) == ("trace.csv", "csv", 3, len(LINES))
    assert (entry.duration, entry.dependencies, entry.obstacle) == (2.0, False, "")
    assert entry.pinned_spec == f"upload:trace.csv@{entry.sha256[:8]}"
    assert shelf.path("trace.csv").read_text() == LINES
    assert shelf.tasks(entry.pinned_spec).size.tolist() == [100.0, 200.0, 300.0]


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "A.csv", ".hidden", "a b", "a" * 101, "a\n", "a\0"])
def test_no_name_leads_out_of_the_folder(shelf: Library, name: str) -> None:
    for use in (lambda: add(shelf, name), lambda: shelf.entry(name), lambda: shelf.path(name)):
        with pytest.raises(InputError, match="cannot be the name of a workload: take up to 100"):
            use()
    with pytest.raises(InputError, match="upload:NAME"):
        parse_name(f"upload:{name}")
    assert not shelf.folder.exists()


def test_a_file_that_cannot_be_read_is_refused_by_name_and_line_and_leaves_nothing(shelf: Library) -> None:
    with pytest.raises(InputError, match=r"^trace\.csv line 3: size is -1, expected a number above 0"):
        add(shelf, "trace.csv", "size,compute_intensity,memory_required\n1,0.5,1\n-1,0.5,1\n")
    with pytest.raises(RuntimeError, match="the connection broke"):
        _break_off(shelf)
    assert list(shelf.folder.iterdir()) == []


def _break_off(shelf: Library) -> None:
    with shelf.add("trace.csv") as place:
        place.write_text(LINES)
        raise RuntimeError("the connection broke")


def test_what_a_killed_upload_left_is_swept_and_one_that_goes_on_is_not(shelf: Library) -> None:
    shelf.sweep()  # there is no folder yet
    add(shelf, "kept")
    (shelf.folder / ".x.old").mkdir()
    for name in (".x.old/tasks", ".new.old", ".new.young"):
        (shelf.folder / name).write_text("")
    for name in (".x.old", ".new.old"):
        os.utime(shelf.folder / name, (time.time() - 7200,) * 2)
    shelf.sweep()
    assert {each.name for each in shelf.folder.iterdir()} == {"kept", ".new.young"}


def test_a_file_is_never_replaced(shelf: Library) -> None:
    add(shelf, "trace.csv")
    with pytest.raises(SchedulerError, match=r"there is a workload 'trace\.csv' already: delete it first"):
        add(shelf, "trace.csv", LINES + "1,0.5,1,9\n")
    shelf.remove("trace.csv")
    assert list(shelf.folder.iterdir()) == []
    with pytest.raises(UnknownNameError, match=r"there is no workload 'trace\.csv': uploaded are none"):
        shelf.remove("trace.csv")
    add(shelf, "trace.csv", LINES + "1,0.5,1,9\n")
    assert shelf.entry("trace.csv").tasks == 4


def test_another_file_of_the_same_name_is_noticed(shelf: Library) -> None:
    add(shelf, "trace.csv")
    pinned = shelf.entry("trace.csv").pinned_spec
    shelf.remove("trace.csv")
    add(shelf, "trace.csv", LINES + "1,0.5,1,9\n")
    with pytest.raises(InputError, match=r"'trace\.csv' is not the file of this run .* upload that file again"):
        shelf.tasks(pinned)


def test_a_file_that_was_changed_on_disk_is_noticed(shelf: Library) -> None:
    add(shelf, "trace.csv")
    place = shelf.folder / "trace.csv" / FILE
    place.write_text(LINES + "1,0.5,1,9\n")
    with pytest.raises(InputError, match="is not the file that was uploaded"):
        shelf.tasks("upload:trace.csv")
    place.unlink()
    with pytest.raises(InputError, match=r"cannot be read .* upload it again"):
        shelf.tasks("upload:trace.csv")


def test_what_is_torn_does_not_hide_the_others(shelf: Library) -> None:
    add(shelf, "a.csv")
    add(shelf, "b.csv")
    (shelf.folder / "a.csv" / ABOUT).write_text("{")
    entries, problems = shelf.entries()
    assert [each.name for each in entries] == ["b.csv"]
    assert len(problems) == 1
    assert "damaged" in problems[0]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("task_id,size,compute_intensity,memory_required,dependencies\n1,1,0.5,1,\n2,1,0.5,1,1\n", "dependencies"),
        ("size,compute_intensity,memory_required\n1,0.5,1\n2,0.5,1\n", "arrive at once"),
        ("size,compute_intensity,memory_required,arrival_time,time_a100\n1,0.5,1,0,3\n2,0.5,1,1,3\n", "time_a100"),
        ("size,compute_intensity,memory_required\n1,0.5,1\n", ""),
    ],
)
def test_what_cannot_be_an_endless_stream_says_why(shelf: Library, content: str, why: str) -> None:
    add(shelf, "x", content)
    found = shelf.entry("x").obstacle
    assert (why in found) if why else found == ""


def test_there_is_a_limit_to_tasks_and_to_files(shelf: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "MAX_TASKS", 2)
    with pytest.raises(InputError, match=r"^x: there are 3 tasks, at most 2"):
        add(shelf, "x", LINES.rstrip())
    with pytest.raises(InputError, match=r"^x: there are 5 lines, at most 2 tasks"):
        add(shelf, "x", LINES + "1,0.5,1,9\n")
    monkeypatch.setattr(library, "MAX_TASKS", 10)
    monkeypatch.setattr(library, "MAX_WORKLOADS", 1)
    add(shelf, "x")
    with pytest.raises(SchedulerError, match="there are 1 workloads already: delete one"):
        add(shelf, "y")


def test_a_small_file_that_unpacks_to_much_is_refused(shelf: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "MAX_BYTES", 1 << 20)
    packed = gzip.compress(LINES.encode() + b" " * (2 << 20))
    assert len(packed) < 1 << 13
    with pytest.raises(InputError, match=r"^x: it unpacks to more than 1,048,576 bytes"):
        add(shelf, "x", packed)
    assert not list(shelf.folder.iterdir())


def parquet_bytes(**columns: object) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.table(columns), out)
    return out.getvalue()


def test_parquet_holds_the_same_tasks_as_csv(shelf: Library, tmp_path: Path) -> None:
    tasks = WorkloadGenerator(3).generate_preset("layered", 60)
    csv.write(tasks, tmp_path / "tasks.csv")
    parquet.write_table(pa.Table.from_pandas(csv.to_frame(tasks)), tmp_path / "tasks.parquet")
    add(shelf, "named.csv", (tmp_path / "tasks.parquet").read_bytes())  # its first bytes tell, not its name
    assert shelf.entry("named.csv").format == "parquet"
    again = shelf.tasks("upload:named.csv")
    for name in ("task_id", "size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate"):
        assert getattr(again, name).tobytes() == getattr(tasks, name).tobytes(), name
    assert again.edges.parents.tolist() == tasks.edges.parents.tolist()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"PAR1 and nothing more", "cannot be read as Parquet"),
        (parquet_bytes(size=[1.0], compute_intensity=[0.5]), "column 'memory_required' is missing"),
        (parquet_bytes(size=["a"], compute_intensity=[0.5], memory_required=[1]), "column 'size' holds string"),
        (parquet_bytes(size=[1, 0], compute_intensity=[0, 0], memory_required=[1, 1]), "row 2: size is 0"),
        (
            parquet_bytes(size=[1.0], compute_intensity=[0.5], memory_required=[1], dependencies=[[1.5]]),
            r"row 1: dependencies are '\[1.5\]'",
        ),
        (parquet_bytes(size=[1], compute_intensity=[0], memory_required=[1], task_id=["x"]), "column 'task_id'"),
        (parquet_bytes(size=pa.array([], "double"), compute_intensity=[], memory_required=[]), "there are 0 tasks"),
    ],
)
def test_a_parquet_file_that_cannot_be_used_says_why(shelf: Library, content: bytes, why: str) -> None:
    with pytest.raises(InputError, match=rf"^x\b.*{why}"):
        add(shelf, "x", content)


GOOD = parquet_bytes(size=[1.0, 2.0], compute_intensity=[0.5, 0.1], memory_required=[1, 2], dependencies=["", "0"])


@examples(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    place=st.integers(0, len(GOOD) - 1),
    change=st.binary(min_size=1, max_size=8),
    cut=st.none() | st.integers(0, len(GOOD)),
)
def test_any_damage_to_a_parquet_file_gives_tasks_or_one_line(
    tmp_path: Path, place: int, change: bytes, cut: int | None
) -> None:
    path = tmp_path / "tasks"
    path.write_bytes((GOOD[:place] + change + GOOD[place + len(change) :])[:cut])
    assert told(path)


def told(path: Path) -> bool:
    """Whether a file is read as tasks or refused in one line that names it."""
    try:
        return len(reader.read(path)) > 0
    except SchedulerError as error:
        return "\n" not in str(error) and str(path) in str(error)


@pytest.mark.parametrize("spec", ["upload:a", "upload:a@0123abcd"])
def test_a_spec_names_a_file_with_or_without_its_digest(spec: str) -> None:
    assert is_upload(spec)
    assert parse_name(spec) == "a"
    assert not is_upload("mixed")


@pytest.mark.parametrize(
    "spec", ["upload:", "upload:a@", "upload:a@xyz", "upload:a@0123ABCD", "upload:../a", "mixed"]
)
def test_other_specs_are_refused(spec: str) -> None:
    with pytest.raises(InputError, match="names no uploaded workload: write upload:NAME"):
        parse_name(spec)


# --- files of every format ---------------------------------------------------------------------------------------

ALONE = sorted(name for name in SAMPLES if name not in ("gavel",))  # that one needs its table of throughputs


@pytest.mark.parametrize("name", ALONE)
def test_a_file_of_any_format_is_kept_and_gives_its_tasks(name: str, tmp_path: Path) -> None:
    shelf, file = Library(tmp_path / "shelf"), SAMPLES[name](tmp_path)[0]
    with shelf.add("trace") as place:
        place.write_bytes(gzip.compress(file.read_bytes()))
    entry = shelf.entry("trace")
    assert entry.format == name
    assert entry.tasks == len(shelf.tasks("upload:trace")) > 0
    kept = file.rename(tmp_path / "tasks")  # as the library calls it: a name may tell the machine
    assert compute_digest(shelf.tasks("upload:trace")) == compute_digest(reader.read(kept))


def test_a_torn_file_is_called_by_its_name_and_leaves_nothing(tmp_path: Path) -> None:
    shelf, file = Library(tmp_path / "shelf"), swf_file(tmp_path)[0]
    with (
        pytest.raises(InputError, match=r"^trace line 11: there are 1\d fields, expected 18"),
        shelf.add("trace") as place,
    ):
        place.write_bytes(file.read_bytes()[:-20])
    assert list((tmp_path / "shelf").iterdir()) == []


def test_an_uploaded_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "SMALL", 1 << 20)
    shelf = Library(tmp_path / "shelf")
    with (
        pytest.raises(InputError, match=r"^bomb unpacks to more than 200 times its size"),
        shelf.add("bomb") as place,
    ):
        place.write_bytes(gzip.compress(b"\n" * 50_000_000))
    assert list((tmp_path / "shelf").iterdir()) == []
