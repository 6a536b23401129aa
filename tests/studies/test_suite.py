"""A suite puts every policy on every instance of a directory and says how far each is from the reference."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.reports.scoreboard import plot_scoreboard
from hybrid_scheduler.studies.scoreboard import BEST_KNOWN, BOUND, Line, Score, Scoreboard, write_csv, write_markdown
from hybrid_scheduler.studies.suite import CSV, REFERENCES, Suite, found, read_rows, run_suite, write
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
    collected = found([str(folder)], {})
    assert {each.name: each.best_known for each in collected.instances if each.name == "easy"} == {"easy": 3.0}
    assert sorted(each.name for each in collected.instances) == ["easy", "slow"]
    assert collected.passed_over == {"README": "of no known format", "best.csv": REFERENCES}


def test_a_list_of_nodes_goes_with_the_pods_beside_it(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,32000,262144,2,T4\n", encoding="utf-8")
    (tmp_path / "pods.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
        "p0,4000,1024,1,500,,LS,Running,0,100,10\n",
        encoding="utf-8",
    )
    collected = found([str(tmp_path)], {})
    (pods,) = collected.instances
    assert [path.name for path in pods.paths] == ["pods.csv", "nodes.csv"]
    assert pods.read(None)[1].gpus.tolist() == [1, 2]
    assert collected.passed_over == {"nodes.csv": "read with the alibaba files beside it"}


def test_files_of_one_name_keep_their_folders(folder: Path) -> None:
    (folder / "deeper" / "easy.csv").write_bytes((folder / "easy.csv").read_bytes())
    assert sorted(each.name for each in found([str(folder)], {}).instances) == ["deeper/easy.csv", "easy.csv", "slow"]


def test_a_best_value_for_an_unknown_instance_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="--best names 'esay', which is no instance"):
        found([str(folder)], {"esay": 1.0})


def test_a_directory_without_instances_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    with pytest.raises(InputError, match="there is no instance in"):
        found([str(tmp_path)], {})


def test_the_scoreboard_holds_makespans_against_best_known_values_and_bounds(folder: Path, tmp_path: Path) -> None:
    suite = Suite(found([str(folder)], {}).instances, ("eft", "round_robin"), processes=2)
    board = run_suite(suite)
    lines = {line.instance: line for line in board.lines}
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
        (line.instance, policy) for line in board.lines for policy in ("eft", "round_robin")
    ]


def hand_made() -> Scoreboard:
    lines = (
        Line("a", "csv", 2, 0, 2, {}, "1 node: 1 cpu", bound=1.0, best_known=2.0),
        Line("b", "swf", 5, 1, 9, {"cancelled": 4}, "1 node: 1 cpu", bound=4.0),
    )
    scores = (
        Score("a", "eft", 0, makespan=2.0, seconds=0.5),
        Score("a", "slow", 0, makespan=4.0, seconds=0.5),
        Score("b", "eft", 0, makespan=4.0, seconds=0.5),
        Score("b", "slow", 0, problem="not done after 5 s"),
    )
    return Scoreboard(lines, ("slow", "eft"), scores)


def test_who_came_to_no_end_stands_below_and_is_named(tmp_path: Path) -> None:
    board = hand_made()
    eft, slow = board.standings()
    assert (eft.policy, eft.instances, eft.mean, eft.wins, eft.seconds) == ("eft", 2, 1.0, 2, 1.0)
    assert (slow.policy, slow.instances, slow.mean, slow.wins) == ("slow", 1, 2.0, 0)
    assert math.isnan(board.ratio("slow", board.lines[1]))
    write_markdown(board, tmp_path / "board.md", ["hms", "bench-suite", "my dir"], {"LICENSE": "of no known format"})
    text = (tmp_path / "board.md").read_text(encoding="utf-8")
    assert "| a | best known | 2.0000 | **1.0000** |" in text
    assert "| b | bound | – | **1.0000** |" in text
    assert "- slow on b: not done after 5 s" in text
    assert "9, skipped: 4 cancelled" in text
    assert "- LICENSE: of no known format" in text
    assert "    hms bench-suite 'my dir'" in text


def test_the_picture_has_a_field_for_every_cell() -> None:
    ax = plot_scoreboard(hand_made())
    assert [each.get_text() for each in ax.texts] == ["1.000", "2.000", "1.000", "–"]
    assert [each.get_text() for each in ax.get_xticklabels()] == ["eft", "slow"]
    shades = ax.images[0].get_array()
    assert shades is not None
    assert np.ma.count(shades) == 3


def test_a_kept_scoreboard_is_read_back_and_a_changed_one_refused(tmp_path: Path) -> None:
    write(hand_made(), tmp_path, ["hms", "bench-suite", "x"], {})
    rows = read_rows(tmp_path)
    assert [(row["instance"], row["policy"], row["makespan_over_reference"]) for row in rows] == [
        ("a", "slow", "2.0"), ("a", "eft", "1.0"), ("b", "slow", "nan"), ("b", "eft", "1.0")
    ]  # fmt: skip
    (tmp_path / CSV).write_text("instance\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"scoreboard\.csv"):
        read_rows(tmp_path)
