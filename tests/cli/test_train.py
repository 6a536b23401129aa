"""`hms train` and `hms models`."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from helpers_cli import hms, refused
from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.learning import attention
from hybrid_scheduler.learning.labels import label_isolated
from hybrid_scheduler.schedulers.attention_agent import AttentionAgent
from hybrid_scheduler.storage.rows import Batch, TaskRows, TrainingRows
from hybrid_scheduler.storage.store import Store
from hybrid_scheduler.workloads import WorkloadGenerator


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
    assert all(each.name in done.err for each in registry.schedulers if each.kind == "learner")
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
    assert "rl_agent and attention_agent have one" in done.err


def test_the_attention_agent_is_trained_with_curve_events_and_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setattr(AttentionAgent, "pretraining_tasks", 60)
    short = partial(attention.AttentionTrainer, imitation=1, workloads=4, held_out=2)
    model, curve, checkpoint = (tmp_path / name for name in ("a.model", "c.csv", "a.pt"))
    words = ("train", "attention_agent", "-o", str(model), "--checkpoint", str(checkpoint), "--gpus", "1")
    monkeypatch.setattr(attention, "AttentionTrainer", partial(short, rounds=1))
    assert hms(*words).out.endswith(f"wrote {model} and {model}.json: attention_agent after 1 node: 1 cpu, 1 gpu\n")
    monkeypatch.setattr(attention, "AttentionTrainer", partial(short, rounds=2))
    done = hms(*words, "--curve", str(curve), "--tensorboard", str(tmp_path / "tb"))
    assert done.code == 0
    assert [line.split(",")[1] for line in curve.read_text().splitlines()[1:]] == ["1", "2"], "it went on"
    assert "weights/rule" in EventAccumulator(str(tmp_path / "tb")).Reload().Tags()["histograms"]
    agent = registry.schedulers.create(f"attention_agent:model={model}")
    assert agent.is_trained, "trained for one cluster, it knows how long tasks take there"
    refused(hms(*words[:-1], "2"), "belongs to a training with other settings")


def test_weights_are_written_as_histograms(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    arguments = (
        "-o",
        str(tmp_path / "a.pth"),
        "-n",
        "600",
        "--presets",
        "mixed",
        "--tensorboard",
        str(tmp_path / "tb"),
    )
    assert hms("train", "rl_agent", *arguments).code == 0
    events = EventAccumulator(str(tmp_path / "tb")).Reload()
    assert set(events.Tags()["histograms"]) == {f"weights/{name}" for name in ("w1", "b1", "w2", "b2", "w3", "b3")}
    assert "loss" in events.Tags()["scalars"]


def test_what_a_service_has_stored_trains_a_model_that_must_be_better_to_be_taken(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/hms.db"
    asyncio.run(store_training_rows(address, 300))
    model = tmp_path / "forest.model"
    words = ("train", "hybrid_ml", "--from-database", "--database", address, "-o", str(model))
    first, again = hms(*words), hms(*words)
    assert first.out.startswith(f"wrote {model}: fitted to 240 rows, mean error ")
    assert again.out.startswith(f"kept {model}: ")
    assert again.out.rstrip().endswith("not taken")
    refused(hms("train", "rl_agent", "--from-database", "--database", address, "-o", str(model)), "hybrid_ml can")


def test_too_few_stored_rows_are_refused(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/hms.db"
    asyncio.run(store_training_rows(address, 20))
    words = ("train", "hybrid_ml", "--from-database", "--database", address, "-o", str(tmp_path / "m"))
    refused(hms(*words), "20 rows of training data are stored")


async def store_training_rows(address: str, count: int) -> None:
    store = await Store.open(address)
    run = await store.begin_run("live", 0, Cluster.default().to_dict(), {}, "a test")
    tasks = WorkloadGenerator(1).generate_preset("mixed", count, load=0.9, cluster=Cluster.default())
    shares = label_isolated(class_times(tasks, Cluster.default()), Cluster.default())
    columns = (tasks.task_id, tasks.size, tasks.compute_intensity, tasks.memory_required, shares, shares)
    rows = (TaskRows.from_tasks(tasks),), (), (TrainingRows(*columns),)
    await store.write(Batch(run, *rows))
    await store.close()
