"""The scoreboard ranks policies over instances and is written as CSV, Markdown and a figure."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.reports.figures.heatmaps import plot_scoreboard
from hybrid_scheduler.studies.scoreboard import (
    InstanceRow,
    Score,
    Scoreboard,
    write_markdown,
)
from hybrid_scheduler.studies.suite import (
    CSV,
    Suite,
    find_instances,
    load_scoreboard,
    save_scoreboard,
)


def hand_made() -> Scoreboard:
    lines = (
        InstanceRow("a", "csv", 2, 0, 2, {}, "1 node: 1 cpu", bound=1.0, best_known=2.0),
        InstanceRow("b", "swf", 5, 1, 9, {"cancelled": 4}, "1 node: 1 cpu", bound=4.0),
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
    assert math.isnan(board.ratio("slow", board.instances[1]))
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
    suite = Suite(tuple(find_instances(["mixed"], {}).instances), ("eft",))
    save_scoreboard(hand_made(), tmp_path, ["hms", "bench-suite", "x"], {}, suite)
    rows = load_scoreboard(tmp_path)
    assert [(row["instance"], row["policy"], row["makespan_over_reference"]) for row in rows] == [
        ("a", "slow", "2.0"), ("a", "eft", "1.0"), ("b", "slow", "nan"), ("b", "eft", "1.0")
    ]  # fmt: skip
    (tmp_path / CSV).write_text("instance\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"scoreboard\.csv"):
        load_scoreboard(tmp_path)


def test_a_policy_that_split_no_task_is_held_against_the_sharper_bound() -> None:
    row = InstanceRow("a", "csv", 2, 0, 2, {}, "1 node: 1 cpu", bound=1.0, whole_bound=2.0)
    scores = (Score("a", "eft", 0, makespan=2.0, split=0), Score("a", "oracle", 0, makespan=1.5, split=1))
    board = Scoreboard((row,), ("eft", "oracle"), scores)
    assert board.ratio("eft", row) == 1.0
    assert board.ratio("oracle", row) == 1.5
