"""A suite puts every policy on every instance of a directory and says how far each is from the reference."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.studies.scoreboard import (
    BEST_KNOWN,
    WHOLE_BOUND,
    write_csv,
    write_markdown,
)
from hybrid_scheduler.studies.suite import (
    REFERENCES,
    Journal,
    Suite,
    find_instances,
    run_suite,
)
from hybrid_scheduler.workloads.formats import csv as csv_format
from workloads.formats.samples import swf_file


def batch(cpu: list[float], gpu: list[float]) -> Tasks:
    count = len(cpu)
    return Tasks.build([1.0] * count, [0.5] * count, [0.0] * count, measured={"cpu": cpu, "gpu": gpu})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two instances, one of them with a best known value, and files that are none."""
    place = tmp_path / "instances"
    (place / "deeper").mkdir(parents=True)
    csv_format.write(batch([3.0, 5.0], [3.0, 1.0]), place / "easy.csv")
    csv_format.write(batch([2.0, 2.0, 2.0], [4.0, 4.0, 4.0]), place / "deeper" / "slow.csv")
    (place / "best.csv").write_text("instance,best_makespan\neasy,3.0\nother,9\n", encoding="utf-8")
    (place / "README").write_text("What these are.\n", encoding="utf-8")
    return place


def test_instances_have_short_names_and_best_known_values_and_the_rest_is_accounted_for(folder: Path) -> None:
    collected = find_instances([str(folder)], {})
    assert {each.name: each.best_known for each in collected.instances if each.name == "easy"} == {"easy": 3.0}
    assert sorted(each.name for each in collected.instances) == ["easy", "slow"]
    strange = f"{REFERENCES}; no instance is called other"
    assert collected.ignored == {"README": "of no known format", "best.csv": strange}


def test_a_table_of_best_known_values_that_names_no_instance_is_refused(folder: Path) -> None:
    (folder / "best.csv").write_text("instance,best_makespan\neasy.csv,3.0\nother,9\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"best\.csv gives best known values of easy\.csv, other.*called easy, slow"):
        find_instances([str(folder)], {})


def test_a_list_of_nodes_goes_with_the_pods_beside_it(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,2,T4\n", encoding="utf-8")
    (tmp_path / "pods.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
        "p0,4000,1024,1,500,,LS,Running,0,100,10\n",
        encoding="utf-8",
    )
    collected = find_instances([str(tmp_path)], {})
    (pods,) = collected.instances
    assert [path.name for path in pods.paths] == ["pods.csv", "nodes.csv"]
    assert pods.read(None)[1].gpus.tolist() == [1, 2]
    assert collected.ignored == {"nodes.csv": "read with the alibaba files beside it"}


def test_files_of_one_name_keep_their_folders(folder: Path) -> None:
    (folder / "deeper" / "easy.csv").write_bytes((folder / "easy.csv").read_bytes())
    (folder / "best.csv").unlink()  # it names one of them, whichever
    assert sorted(each.name for each in find_instances([str(folder)], {}).instances) == [
        "deeper/easy.csv",
        "easy.csv",
        "slow",
    ]


def test_a_best_value_for_an_unknown_instance_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="--best names 'esay', which is no instance"):
        find_instances([str(folder)], {"esay": 1.0})


def test_a_directory_without_instances_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    with pytest.raises(InputError, match="there is no instance in"):
        find_instances([str(tmp_path)], {})


def test_the_scoreboard_holds_makespans_against_best_known_values_and_bounds(folder: Path, tmp_path: Path) -> None:
    suite = Suite(tuple(find_instances([str(folder)], {}).instances), ("eft", "round_robin"), processes=2)
    board = run_suite(suite)
    lines = {line.instance: line for line in board.instances}
    assert lines["easy"].against() == BEST_KNOWN
    assert lines["slow"].against() == WHOLE_BOUND
    # One CPU and four GPUs: eft gives `easy` the optimum; `slow` cannot end before 6 / (1 + 4 / 2) = 2 s, and if no
    # task is split not before 4 s: a GPU takes as long, and the CPU alone 6 s.
    assert board.ratio("eft", lines["easy"]) == 1.0
    assert lines["slow"].bound == pytest.approx(2.0)
    assert lines["slow"].whole_bound == pytest.approx(4.0)
    assert board.ratio("eft", lines["slow"]) == pytest.approx(1.0)
    assert board.standings()[0].policy == "eft"
    # The fastest devices of `easy` are free at once; round robin, which splits nothing, has the same bound.
    assert board.mean("eft", "easy", "turnaround_over_bound") == pytest.approx(1.0)
    ratio = board.mean("round_robin", "easy", "mean_turnaround") / board.mean("eft", "easy", "mean_turnaround")
    assert board.mean("round_robin", "easy", "turnaround_over_bound") == pytest.approx(ratio)
    write_csv(board, tmp_path / "scores.csv")
    rows = list(csv.DictReader((tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["instance"], row["policy"]) for row in rows] == [
        (line.instance, policy) for line in board.instances for policy in ("eft", "round_robin")
    ]


def test_wide_jobs_have_a_scoreboard_of_their_own(folder: Path, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log.swf"
    log.parent.mkdir()
    lines = [
        f"{n} {9 * n} -1 {30 + n} {1 + n % 4} -1 -1 {1 + n % 4} 60 -1 1 1 1 -1 -1 -1 -1 -1" for n in range(1, 20)
    ]
    log.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n", encoding="utf-8")
    csv_format.write(batch([1.0], [1.0]), log.parent / "tasks.csv")
    found = find_instances(["cluster_batch", str(log.parent)], {}, wide=True)
    assert list(found.ignored) == ["tasks.csv"]
    assert "jobs need seconds and cpu_milli or gpus" in found.ignored["tasks.csv"]
    board = run_suite(Suite(tuple(found.instances), ("fcfs", "sjf+easy"), processes=2))
    assert [row.instance for row in board.instances] == ["cluster_batch", "log.swf"]
    for row in board.instances:
        assert board.ratio("sjf+easy", row) >= 1.0
        assert board.mean("sjf+easy", row.instance, "bounded_slowdown") >= 1.0
    slowdown = [board.mean(policy, "cluster_batch", "bounded_slowdown") for policy in board.policies]
    assert slowdown[1] < slowdown[0]
    write_markdown(board, tmp_path / "board.md", ["hms"], {})
    page = (tmp_path / "board.md").read_text(encoding="utf-8")
    assert "## Mean bounded slowdown" in page
    assert "Energy" not in page, "a table without figures is left out"
    with pytest.raises(InputError, match="give each a suite"):
        Suite((*found.instances, *find_instances([str(folder)], {}).instances), ("fcfs",))
    with pytest.raises(SchedulerError, match="did you mean 'sjf'"):
        Suite(tuple(found.instances), ("sfj+easy",))


def test_a_suite_that_was_killed_takes_over_the_cells_that_had_ended(folder: Path, tmp_path: Path) -> None:
    suite = Suite(tuple(find_instances([str(folder)], {}).instances), ("eft", "round_robin"))
    path, ended = tmp_path / "cells.jsonl", list[int]()

    def die(done: int, _: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite(suite, die, Journal(path))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 4
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": "cut o')  # killed while it wrote
    board = run_suite(suite, lambda done, _: ended.append(done), Journal(path))
    assert ended == [5, 6]
    whole = run_suite(suite)
    timeless = [replace(each, seconds=0.0) for each in board.scores]
    assert [str(each) for each in timeless] == [str(replace(each, seconds=0.0)) for each in whole.scores]


def test_a_cell_of_a_file_that_has_changed_runs_again(folder: Path, tmp_path: Path) -> None:
    suite = Suite(tuple(find_instances([str(folder / "easy.csv")], {}).instances), ("eft",))
    run_suite(suite, journal=Journal(tmp_path / "cells.jsonl"))
    csv_format.write(batch([4.0, 6.0], [4.0, 2.0]), folder / "easy.csv")
    assert run_suite(suite, journal=Journal(tmp_path / "cells.jsonl")).scores[0].makespan == 4.0


def test_the_scoreboard_says_which_instances_were_serialised(tmp_path: Path) -> None:
    board = run_suite(Suite(tuple(find_instances([str(swf_file(tmp_path)[0])], {}).instances), ("eft",)))
    assert "SERIALISED: 1 of 3 jobs took several processors at once" in board.instances[0].cluster
