"""A CSV file gives back bit-identical tasks, and any bytes are tasks or an error."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawn import examples
from hybrid_scheduler.core import Task, Tasks
from hybrid_scheduler.core.tasks import MAX_MEMORY, MAX_SECONDS, MAX_SIZE
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.formats import csv
from hybrid_scheduler.workloads.generator import PRESETS

NEEDED = "size,compute_intensity,memory_required"


def _same(one: Tasks, other: Tasks) -> None:
    for name in ("size", "compute_intensity", "memory_required", "arrival_time", "duration_estimate", "task_id"):
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        assert left.tobytes() == right.tobytes(), name
    assert one.edges.start.tolist() == other.edges.start.tolist()
    assert one.edges.parents.tolist() == other.edges.parents.tolist()
    assert list(one.measured) == list(other.measured)
    for name, times in one.measured.items():
        assert np.array_equal(times, other.measured[name], equal_nan=True)


def _read(tmp_path: Path, text: str) -> Tasks:
    (tmp_path / "tasks.csv").write_text(text, encoding="utf-8")
    return csv.read(tmp_path / "tasks.csv")


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_comes_back_from_its_file_bit_identical(preset: str, seed: int, tmp_path: Path) -> None:
    tasks = WorkloadGenerator(seed).generate_preset(preset, 150)
    csv.write(tasks, tmp_path / "tasks.csv")
    _same(csv.read(tmp_path / "tasks.csv"), tasks)


@pytest.mark.parametrize("preset", ["mixed", "cholesky"])
def test_a_file_written_again_is_the_same_file(preset: str, tmp_path: Path) -> None:
    csv.write(WorkloadGenerator(1).generate_preset(preset, 100), tmp_path / "one.csv")
    csv.write(csv.read(tmp_path / "one.csv"), tmp_path / "two.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


def test_measured_times_come_back_with_infinities_and_gaps(tmp_path: Path) -> None:
    tasks = Tasks.build(
        size=[1.0, 2.0, 3.0],
        compute_intensity=[0.1, 0.2, 0.3],
        memory_required=[1.0, 1.0, 1.0],
        measured={"cpu": [0.1 + 0.2, math.inf, math.nan], "gpu": [math.nan, 5e-324, math.inf]},
    )
    csv.write(tasks, tmp_path / "tasks.csv")
    _same(csv.read(tmp_path / "tasks.csv"), tasks)


def test_measured_times_that_are_all_empty_come_back_empty(tmp_path: Path) -> None:
    tasks = Tasks.build([1.0], [0.5], [1.0], measured={"gpu": [math.nan]})
    csv.write(tasks, tmp_path / "tasks.csv")
    _same(csv.read(tmp_path / "tasks.csv"), tasks)


def test_measured_times_in_a_file_are_read_by_class(tmp_path: Path) -> None:
    tasks = _read(tmp_path, f"{NEEDED},time_cpu,time_big_gpu\n1,0.5,1,inf,2.5\n1,0.5,1,,\n")
    assert tasks.measured["cpu"][0] == math.inf
    assert tasks.measured["big_gpu"][0] == 2.5
    assert np.isnan([tasks.measured["cpu"][1], tasks.measured["big_gpu"][1]]).all()


numbers = st.floats(1e-3, MAX_SIZE)
SECONDS = st.floats(5e-324, MAX_SECONDS) | st.sampled_from((math.inf, math.nan))


@examples(200)
@given(
    rows=st.lists(
        st.tuples(numbers, st.floats(0, 1), st.floats(0, MAX_MEMORY), st.floats(0, MAX_SECONDS), numbers),
        min_size=1,
        max_size=6,
    ),
    ids=st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=6, max_size=6, unique=True),
    measured=st.none()
    | st.lists(st.floats(5e-324, MAX_SECONDS) | st.sampled_from((math.inf, math.nan)), min_size=6, max_size=6),
    chained=st.booleans(),
)
def test_any_tasks_come_back_from_their_file_bit_identical(
    scratch: Path,
    rows: list[tuple[float, float, float, float, float]],
    ids: list[int],
    measured: list[float] | None,
    chained: bool,
) -> None:
    tasks = Tasks.from_iterable(
        Task(
            ids[row],
            *figures[:4],
            tuple(ids[:row][-2:]) if chained else (),
            figures[4],
            {} if measured is None else {"gpu": measured[row]},
        )
        for row, figures in enumerate(rows)
    )
    csv.write(tasks, scratch)
    _same(csv.read(scratch), tasks)


@pytest.mark.parametrize("task_id", [2**53, 2**53 + 1, 2**62 + 1, -(2**53) - 1])
def test_a_large_id_comes_back_exactly(task_id: int, tmp_path: Path) -> None:
    tasks = Tasks.from_iterable([Task(task_id, 1.0, 0.5, 1.0), Task(1, 1.0, 0.5, 1.0, dependencies=(task_id,))])
    csv.write(tasks, tmp_path / "tasks.csv")
    _same(csv.read(tmp_path / "tasks.csv"), tasks)


def test_task_size_is_another_name_for_size(tmp_path: Path) -> None:
    tasks = _read(tmp_path, "task_size,compute_intensity,memory_required\n12.5,0.5,1\n")
    assert tasks.size.tolist() == [12.5]


def test_size_wins_where_both_names_are_given(tmp_path: Path) -> None:
    tasks = _read(tmp_path, f"task_size,{NEEDED}\n99,12.5,0.5,1\n")
    assert tasks.size.tolist() == [12.5]


def test_only_three_columns_are_needed_and_their_order_is_free(tmp_path: Path) -> None:
    tasks = _read(tmp_path, "memory_required,note,compute_intensity,size\n1,hello,0.25,100\n2,,0.5,400\n")
    assert list(tasks) == [
        Task(0, 100.0, 0.25, 1.0, 0.0, (), 1e-6 * 1000.0 / 0.75),
        Task(1, 400.0, 0.5, 2.0, 0.0, (), 1e-6 * 8000.0),
    ]


@pytest.mark.parametrize(
    ("cell", "parents"),
    {
        "1;2": (1, 2),
        '"[1, 2]"': (1, 2),
        "1 2": (1, 2),
        '"1,2"': (1, 2),
        "[1;2]": (1, 2),
        " 1 ; 2 ": (1, 2),
        "[2]": (2,),
        "2": (2,),
        "2.0": (2,),
        "[]": (),
        "": (),
        "[ ]": (),
    }.items(),
)
@pytest.mark.parametrize("first", ["", "[]"])
def test_dependencies_may_be_written_in_several_ways(
    cell: str, parents: tuple[int, ...], first: str, tmp_path: Path
) -> None:
    tasks = _read(
        tmp_path, f"task_id,{NEEDED},dependencies\n1,5,0.5,1,{first}\n2,5,0.5,1,{first}\n3,5,0.5,1,{cell}\n"
    )
    assert [task.dependencies for task in tasks] == [(), (), parents]


@pytest.mark.parametrize("cell", ["1;;2", "1-2", "[1, 2", "a", "1.5", "1;2.5", "nan;1", "--1"])
def test_dependencies_that_are_no_ids_are_refused_with_their_line(cell: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tasks\.csv line 4: dependencies are .*, expected task ids such as 1;2"):
        _read(tmp_path, f'task_id,{NEEDED},dependencies\n1,5,0.5,1,\n2,5,0.5,1,\n3,5,0.5,1,"{cell}"\n')


def test_a_parent_may_stand_below_its_child(tmp_path: Path) -> None:
    tasks = _read(tmp_path, f"task_id,{NEEDED},dependencies\n9,5,0.5,1,4\n4,5,0.5,1,\n")
    assert tasks.topological.tolist() == [1, 0]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_of_windows_and_a_byte_order_mark_are_read_alike(ends: str, mark: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_bytes(f"{mark}{NEEDED}{ends}5,0.5,1{ends}6,0.25,2{ends}".encode())
    tasks = csv.read(tmp_path / "tasks.csv")
    assert tasks.size.tolist() == [5.0, 6.0]


def test_blanks_after_commas_do_not_matter(tmp_path: Path) -> None:
    tasks = _read(tmp_path, "size, compute_intensity, memory_required\n5, 0.5, 1\n")
    assert tasks[0] == Task(0, 5.0, 0.5, 1.0, 0.0, (), tasks[0].duration_estimate)


def test_a_file_without_a_last_line_end_is_whole(tmp_path: Path) -> None:
    assert len(_read(tmp_path, f"{NEEDED}\n5,0.5,1\n6,0.5,1")) == 2


def test_tasks_of_a_file_can_be_simulated_like_those_that_were_written(tmp_path: Path) -> None:
    from hybrid_scheduler import VirtualMultiGPU

    tasks = WorkloadGenerator(3).generate_preset("mixed", 50)
    csv.write(tasks, tmp_path / "tasks.csv")
    machine = VirtualMultiGPU()
    read, drawn = (
        machine.evaluate_baseline_schedulers(each, ("eft", "round_robin"))
        for each in (csv.read(tmp_path / "tasks.csv"), tasks)
    )
    assert read == drawn


def test_an_unwritable_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="cannot write"):
        csv.write(WorkloadGenerator(3).generate_preset("mixed", 5), tmp_path / "file" / "tasks.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# --- any bytes -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any_bytes") / "tasks.csv"


def _reads_or_refuses(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        tasks = csv.read(path)
    except SchedulerError as error:
        assert str(path) in str(error)  # noqa: PT017  # an error is one of two good ends
        return
    assert len(tasks) > 0
    assert np.all(np.isfinite(tasks.duration_estimate) & (tasks.duration_estimate > 0))


COLUMNS = [
    *NEEDED.split(","),
    "task_id",
    "task_size",
    "arrival_time",
    "duration_estimate",
    "dependencies",
    "time_cpu",
    "time_",
    "x",
    "",
    "size.1",
]
WORDS = (
    "1 0 0.5 2 1e3 -1 nan inf -inf NA True x é 1;2 [1,2] \" ' 1e400 0x10 1_000 1+2j ٣ # - 2020-01-01 1e-400 5e-324"
)
MORE_WORDS = "1e200 1e308 -0.5 -0 9223372036854775808 [ ] ; 1,2 \ufeff \x00 \x1a"
CELLS = st.sampled_from(
    [*WORDS.split(" "), *MORE_WORDS.split(" "), "", " ", "\r", "\n", "[1, 2]", "9" * 25, "9" * 5000]
) | st.text(max_size=4)
GOOD_CELLS = st.sampled_from(["1", "0", "0.5", "1", "0.25", "2", ""])


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """Draw text that looks like a table of tasks, mostly."""
    header = draw(st.permutations(NEEDED.split(","))) + draw(st.lists(st.sampled_from(COLUMNS), max_size=4))
    width = len(header)
    rows = draw(
        st.lists(
            st.lists(GOOD_CELLS | CELLS, min_size=width, max_size=width) | st.lists(CELLS, max_size=width + 2),
            max_size=5,
        )
    )
    quote = draw(st.booleans())
    lines = [header, *([f'"{cell}"' if quote else cell for cell in row] for row in rows)]
    return draw(st.sampled_from(["\n", "\r\n", "\r"])).join(map(",".join, lines)).encode("utf-8", "surrogatepass")


@examples(400)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"")
@example(b"\n")
@example(b"\x00")
@example(b'"')
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf")
@example(b"a,b\n1,2,3\n")
@example(b"\r")
@example(b",,,\n,,,\n")
def test_any_bytes_are_tasks_or_an_error_for_the_user(scratch: Path, content: bytes) -> None:
    _reads_or_refuses(scratch, content)


@examples(600)
@given(tables())
@example(f"{NEEDED}\n-5,0.5,1\n".encode())
@example(f"{NEEDED}\n5,-0.5,1\n".encode())
@example(f"{NEEDED}\n1e300,0.5,1\n".encode())
@example(f"task_id,{NEEDED},dependencies\n1,5,0.5,1,\n2,5,0.5,1,1;{'9' * 5000}\n".encode())
@example(f"{NEEDED}\n{'9' * 400},0.5,1\n".encode())
@example(f"{NEEDED},time_cpu,time_cpu\n1,0.5,1,2,3\n".encode())
@example(f"{NEEDED}\n1,100,0.5,10\n".encode())
def test_any_table_is_tasks_or_an_error_for_the_user(scratch: Path, content: bytes) -> None:
    _reads_or_refuses(scratch, content)


@examples(100)
@given(st.lists(st.sampled_from(["0", "1", "0.5", "7"]), min_size=4, max_size=7))
def test_a_line_with_another_number_of_fields_than_the_header_is_always_refused(
    scratch: Path, cells: list[str]
) -> None:
    scratch.write_text(f"{NEEDED}\n{','.join(cells)}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"line 2\b.* {len(cells)} fields, expected 3"):
        csv.read(scratch)
