"""A suite puts every policy on every instance of a directory and says how far each is from the reference."""

import csv
from pathlib import Path

import pytest

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.studies.scoreboard import (
    BEST_KNOWN,
    BOUND,
    write_csv,
)
from hybrid_scheduler.studies.suite import (
    REFERENCES,
    Suite,
    find_instances,
    run_suite,
)
from hybrid_scheduler.workloads.formats import csv as csv_format


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
    assert collected.ignored == {"README": "of no known format", "best.csv": REFERENCES}


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
    assert lines["easy"].against == BEST_KNOWN
    assert lines["slow"].against == BOUND
    # One CPU and four GPUs: eft gives `easy` the optimum; `slow` cannot end before 6 / (1 + 4 / 2) = 2 s.
    assert board.ratio("eft", lines["easy"]) == 1.0
    assert lines["slow"].bound == pytest.approx(2.0)
    assert board.ratio("eft", lines["slow"]) == pytest.approx(2.0)
    assert board.standings()[0].policy == "eft"
    write_csv(board, tmp_path / "scores.csv")
    rows = list(csv.DictReader((tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()))
    assert [(row["instance"], row["policy"]) for row in rows] == [
        (line.instance, policy) for line in board.instances for policy in ("eft", "round_robin")
    ]
