"""Experiments on measured times: the tables they make, and what they say without the files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers_cli import hms
from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.studies import experiments
from hybrid_scheduler.studies.experiments import PREDICTED, TRUE, predicted
from hybrid_scheduler.studies.pretraining import taught
from workloads.formats.real_data import DATA, needs_data


def test_without_the_files_it_says_how_to_give_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HMS_DATA", raising=False)
    done = hms("experiment", "kernels", "-o", str(tmp_path / "new"))
    assert done.code == 2
    assert "experiment 'kernels' reads files of others, and none was given: give their folder with --data" in done.err
    with pytest.raises(InputError, match="is no folder: give their folder with --data"):
        experiments.run_measured("cholesky", (0,), tmp_path / "nowhere")


def test_predicted_times_are_told_instead_of_the_true_ones() -> None:
    kind = np.arange(40.0) % 2
    tasks = Tasks.build(
        np.ones(40), np.ones(40), np.ones(40), measured={"cpu": 1 + kind, "gpu": 2 - kind}, features={"kind": kind}
    )
    cluster = Cluster.default(gpus=1)
    told = predicted(taught("hybrid_ml", [tasks], cluster), tasks, cluster)
    assert np.allclose(told.expected["cpu"], 1 + kind)
    assert np.allclose(told.expected["gpu"], 2 - kind)
    with pytest.raises(InputError, match="'greedy' has learnt no times"):
        predicted(registry.schedulers.create("greedy"), tasks, cluster)


@needs_data
def test_on_unseen_kernels_the_learner_beats_all_who_do_not_know_the_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "KERNEL_TASKS", 400)
    study = experiments.run_measured("kernels", (0,), DATA)
    mean = {name: study.points(name, "mean_turnaround")[0.9].mean for name in study.series}
    assert all(mean["hybrid_ml"] < mean[name] for name in ("greedy", "round_robin", PREDICTED))
    assert study.points(TRUE, "regret")[0.9].mean == 0.0
    regret = study.points("greedy", "regret")[0.9].mean
    assert regret == pytest.approx(mean["greedy"] - mean[TRUE])


@needs_data
def test_on_a_measured_machine_plans_by_learnt_times_are_no_worse_than_heft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "MACHINES", ("mirage",))
    monkeypatch.setattr(experiments, "TILES", (7,))
    monkeypatch.setattr(experiments, "POLICIES", ("heft", "eft", "hybrid_ml"))
    study = experiments.run_measured("cholesky", (0,), DATA)
    over = {name: study.points(name, "makespan_over_bound")["mirage, 7"].mean for name in study.series}
    assert 1.0 <= over["hybrid_ml"] <= 1.01 * over["heft"]
    assert over["hybrid_ml"] < over["eft"]
