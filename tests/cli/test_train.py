"""`hms train` and `hms models`."""

from __future__ import annotations

import json
from pathlib import Path

from helpers_cli import hms


def test_a_trained_forest_is_listed_and_races(tmp_path: Path) -> None:
    model = tmp_path / "models" / "forest.pkl"
    assert hms("train", "hybrid_ml", "-o", str(model), "-n", "300", "--presets", "mixed").code == 0
    listed = json.loads(hms("models", str(tmp_path / "models"), "--json").out)["models"]
    assert [(each["file"], each["kind"], each["intact"]) for each in listed] == [("forest.pkl", "hybrid_ml", True)]
    raced = hms(
        "compare", "-n", "100", "--seeds", "1", "-s", f"hybrid_ml:model={model}:online=false,greedy", "--json"
    )
    assert raced.code == 0


def test_a_trained_agent_is_written_with_its_manifest(tmp_path: Path) -> None:
    done = hms("train", "rl_agent", "-o", str(tmp_path / "agent.pth"), "-n", "600", "--presets", "mixed")
    assert done.code == 0
    assert (tmp_path / "agent.pth.json").exists()


def test_a_changed_model_is_listed_as_such(tmp_path: Path) -> None:
    model = tmp_path / "forest.pkl"
    hms("train", "hybrid_ml", "-o", str(model), "-n", "120", "--presets", "mixed")
    model.write_bytes(b"other")
    assert not json.loads(hms("models", str(tmp_path), "--json").out)["models"][0]["intact"]
    assert "NO" in hms("models", str(tmp_path)).out


def test_a_policy_that_does_not_learn_is_refused(tmp_path: Path) -> None:
    done = hms("train", "eft", "-o", str(tmp_path / "x"))
    assert done.code == 2
    assert "does not learn" in done.err
    assert list(tmp_path.iterdir()) == []


def test_no_models_are_said_to_be_none(tmp_path: Path) -> None:
    assert "make one with hms train" in hms("models", str(tmp_path)).out


def test_a_learning_curve_is_kept_as_table_and_picture(tmp_path: Path) -> None:
    curve = tmp_path / "curve.csv"
    done = hms(
        "train", "rl_agent", "-o", str(tmp_path / "a.pth"), "-n", "600", "--presets", "mixed", "--curve", str(curve)
    )
    assert done.code == 0
    lines = curve.read_text().splitlines()
    assert lines[0] == "tasks,steps,loss,epsilon,reward"
    assert len(lines) > 10
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_policy_without_a_learning_curve_says_so(tmp_path: Path) -> None:
    arguments = ("-o", str(tmp_path / "f.pkl"), "-n", "100", "--presets", "mixed", "--curve", str(tmp_path / "c"))
    done = hms("train", "hybrid_ml", *arguments)
    assert done.code == 2
    assert "only rl_agent has one" in done.err
