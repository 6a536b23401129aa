"""A sweep gives the same table whoever does the work, goes on after an interruption, and refuses a wrong grid."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.processes import JobOutcome
from hybrid_scheduler.studies.compare import compare
from hybrid_scheduler.studies.sweep import PARTS, RESULTS, digest, read_grid, run_on_processes, run_sweep

GRID = """
schedulers: [eft, random]
workloads: [mixed, long_tail]
loads: [0.8, 1.5]
clusters: [{gpus: 2}]
seeds: 2
tasks: 60
"""


@pytest.fixture
def grid_file(tmp_path: Path) -> Path:
    path = tmp_path / "grid.yaml"
    path.write_text(GRID, encoding="utf-8")
    return path


def here(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[JobOutcome]:
    """Do jobs in this process, last first."""
    for number, job in reversed(list(enumerate(jobs))):
        yield JobOutcome(number, work(job))


def test_the_table_is_the_same_whatever_the_number_of_processes_and_their_order(
    grid_file: Path, tmp_path: Path
) -> None:
    grid = read_grid(grid_file)
    alone = run_sweep(grid, tmp_path / "alone", here)
    run_sweep(grid, tmp_path / "two", run_on_processes(2, time_limit=100))
    assert alone.points == 8
    assert digest(tmp_path / "alone") == digest(tmp_path / "two")


def test_a_row_holds_what_a_comparison_of_its_own_gives(grid_file: Path, tmp_path: Path) -> None:
    grid = read_grid(grid_file)
    run_sweep(grid, tmp_path / "out", here)
    row = parquet.read_table(tmp_path / "out" / RESULTS).to_pylist()[5]
    point = grid.points()[2]
    assert (row["workload"], row["load"], row["seed"], row["scheduler"]) == ("mixed", 1.5, 0, "random")
    expected = compare(point.comparison).outcomes[0]
    assert row["makespan"] == expected.measures["random"]["makespan"]
    assert row["bound"] == expected.bound.makespan


def test_an_interrupted_sweep_goes_on_where_it_was(grid_file: Path, tmp_path: Path) -> None:
    grid = read_grid(grid_file)

    def breaks_off(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[JobOutcome]:
        yield JobOutcome(3, work(jobs[3]))
        yield JobOutcome(0, work(jobs[0]))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep(grid, tmp_path / "out", breaks_off)
    assert len(list((tmp_path / "out" / PARTS).iterdir())) == 2
    finished = run_sweep(grid, tmp_path / "out", here)
    assert (finished.points, finished.resumed) == (8, 2)
    run_sweep(grid, tmp_path / "whole", here)
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")


def test_a_point_that_fails_is_named_and_the_finished_ones_are_kept(grid_file: Path, tmp_path: Path) -> None:
    def fails(work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[JobOutcome]:
        yield JobOutcome(0, work(jobs[0]))
        yield JobOutcome(1, problem="not done after 5 s")

    with pytest.raises(InputError, match=r"mixed, load 0.8, 2 gpus, seed 1: not done after 5 s"):
        run_sweep(read_grid(grid_file), tmp_path / "out", fails)
    assert len(list((tmp_path / "out" / PARTS).iterdir())) == 1


def test_the_folder_of_another_sweep_is_refused(grid_file: Path, tmp_path: Path) -> None:
    run_sweep(read_grid(grid_file), tmp_path / "out", here)
    grid_file.write_text(GRID.replace("tasks: 60", "tasks: 61"), encoding="utf-8")
    with pytest.raises(InputError, match="holds another sweep"):
        run_sweep(read_grid(grid_file), tmp_path / "out", here)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2", "line 1 is no YAML"),
        ("workloads: mixed", "it holds a mapping with schedulers"),
        ("schedulers: []", "schedulers is empty"),
        ("schedulers: [eft, eft]", "names something twice"),
        ("schedulers: eft\nlods: 1", "lods"),
        ("schedulers: eft\nloads: [0]", "loads has 0"),
        ("schedulers: eft\nseeds: [1, 1]", "seeds is"),
        ("schedulers: eft\nseeds: true", "seeds is True"),
        ("schedulers: eft\nclusters: [{gpu: 3}]", "clusters has"),
        ("schedulers: eft\nclusters: missing.yaml", "missing.yaml does not exist"),
        ("schedulers: eft\ntasks: 1.5", "tasks is 1.5"),
        ("schedulers: eft\nmode: queue", "mode 'queue'"),
        ("schedulers: 7", "schedulers has 7"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused_in_one_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words) as caught:
        read_grid(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
