"""`hms validate` really runs tasks and holds the simulation against the clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers_cli import Finished, hms, refused

WORDS = ["validate", "mixed", "-n", "20", "--scale", "0.01", "-s", "eft,greedy", "--seeds", "2", "--repeats", "2"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    folder = tmp_path_factory.mktemp("validated") / "kept"
    return hms(*WORDS, "--out", str(folder)), folder


def test_the_table_has_an_error_for_every_scheduler_and_says_what_was_emulated(kept: tuple[Finished, Path]) -> None:
    finished, _ = kept
    assert finished.code == 0, finished.err
    lines = finished.out.splitlines()
    assert lines[1].startswith("load ")
    assert lines[0] == "20 tasks, 2 seeds; devices: cpu (emulated), gpu0 (emulated)"
    for name in ("eft", "greedy"):
        (row,) = [line for line in lines if line.split()[:1] == [name]]
        assert row.count("%") == 5
        assert f"{name}: 4 runs, error from " in finished.out
        assert len(row) <= 80


def test_every_task_of_every_run_is_kept_with_both_ends(kept: tuple[Finished, Path]) -> None:
    _, folder = kept
    rows = (folder / "tasks.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 2 * 2 * 2 * 20
    assert all(float(end) > 0 for row in rows[1:] for end in row.split(",")[3:])
    document = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert [each["scheduler"] for each in document["schedulers"]] == ["eft", "greedy"]
    assert (folder / "validation.png").read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_is_there_is_refused_before_anything_runs(kept: tuple[Finished, Path]) -> None:
    refused(hms(*WORDS, "--out", str(kept[1])), "exists")
