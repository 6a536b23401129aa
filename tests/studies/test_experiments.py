"""Experiments: their tables, intervals and figures; the long runs are for `hms experiment`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers_cli import hms
from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.reports.figures.experiments import plot_study
from hybrid_scheduler.reports.style import save_figure
from hybrid_scheduler.schedulers.attention_agent import SHIPPED
from hybrid_scheduler.studies import experiments
from hybrid_scheduler.studies.experiments import PREDICTED, TRUE, ExperimentResult, with_predicted_times
from hybrid_scheduler.studies.pretraining import pretrain_on_workloads
from workloads.formats.real_data import DATA, needs_data


def make_result(places: tuple[float | str, ...]) -> ExperimentResult:
    made = ExperimentResult("made", "x", ("y", "z"))
    for seed in range(3):
        for x in places:
            made.add("one", x, seed, y=1.0 + seed, z=0.1)
            made.add("other", x, seed, y=100.0 + seed, z=0.2)
    return made


def test_points_are_intervals_over_seeds() -> None:
    each = make_result((1.0, 2.0)).points("one", "y")
    assert list(each) == [1.0, 2.0]
    assert each[1.0].mean == pytest.approx(2.0)
    assert each[1.0].low < 2.0 < each[1.0].high


def test_the_table_has_one_line_a_run() -> None:
    lines = make_result(("a",)).to_csv().splitlines()
    assert lines[0] == "series,x,seed,y,z"
    assert lines[1] == "one,a,0,1.0,0.1"
    assert len(lines) == 7


@pytest.mark.parametrize("places", [(0.5, 1.0, 2.0), ("only one",)])
def test_the_picture_shows_every_series(places: tuple[float | str, ...], tmp_path: Path) -> None:
    ax = plot_study(make_result(places))
    legend = ax.get_legend()
    texts = [*ax.get_yticklabels(), *(legend.get_texts() if legend else [])]
    shown = {text.get_text() for text in texts}
    assert {"one", "other"} <= shown
    save_figure(ax, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_turnaround_is_set_against_its_bound_in_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "CELLS", (("mixed", 0.9), ("mixed", 2.0)))
    monkeypatch.setattr(experiments, "ORDERED", ("eft", "least_increase", "oracle"))
    monkeypatch.setattr(experiments, "TURNAROUND_TASKS", 60)
    found = experiments.run_experiment("turnaround", (0,), Cluster.default())
    assert [(row["series"], row["x"]) for row in found.rows[2:4]] == [("oracle", "mixed, 0.9"), ("eft", "mixed, 2")]
    ratios = {name: found.points(name, "turnaround_over_bound")["mixed, 2"].mean for name in found.series}
    assert 1.0 <= ratios["least_increase"] < ratios["eft"] < ratios["oracle"]


def test_after_a_shift_the_online_forest_is_several_times_better_than_the_static_one() -> None:
    found = experiments.run_experiment("shift", (3,), Cluster.default())
    assert found.points("hybrid_ml", "static_over_this")["after the shift"].mean > 4
    assert found.points("hybrid_ml", "over_optimum")["after the shift"].mean < 1.5
    assert found.points("oracle", "over_optimum")["after the shift"].mean < 1.05


def test_nobody_is_trained_before_clusters_that_no_model_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "UNSEEN_WORK", (("two GPUs", "mixed", 0.9),))
    monkeypatch.setattr(experiments, "ZERO_SHOT", ("eft", "greedy"))
    monkeypatch.setattr(experiments, "UNSEEN_TASKS", 50)
    asked = []

    def find_shipped(spec: str, cluster: Cluster) -> Path:
        asked.append((spec, cluster.shape))
        return SHIPPED

    monkeypatch.setattr(experiments, "find_or_train_model", find_shipped)
    found = experiments.run_experiment("zero_shot", (0,), Cluster.default())
    place = "two GPUs: mixed, 0.9"
    names = ("eft", "greedy", experiments.TRAINED_THERE)
    assert [(row["series"], row["x"]) for row in found.rows] == [(name, place) for name in names]
    assert all(row["turnaround_over_bound"] >= 1.0 for row in found.rows)
    assert asked == [("attention_agent", {"cpu": 1, "gpu": 2})], "only the last one is trained there"


def test_robustness_is_told_from_consistency_at_every_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "LEARNT", ("eft",))
    monkeypatch.setattr(experiments, "NOISES", (0.0, 2.0))
    monkeypatch.setattr(experiments, "NOISY_TASKS", 60)
    found = experiments.run_experiment("robustness", (0,), Cluster.default())
    assert found.series == ["eft", experiments.TOLD, *experiments.BLIND]
    for noise in (0.0, 2.0):
        blind = [found.points(name, "over_blind")[noise].mean for name in experiments.BLIND]
        assert min(blind) == 1.0, "the best of them is what the others are measured by"
        assert found.points(experiments.TOLD, "over_told")[noise].mean == 1.0
    told = found.points(experiments.TOLD, "mean_turnaround")
    assert told[0.0].mean != told[2.0].mean


@needs_data
def test_real_work_comes_from_every_kind_of_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "UNTAUGHT", ("eft", "greedy"))
    monkeypatch.setattr(experiments, "UNSEEN_KERNELS", 60)
    found = experiments.run_experiment("zero_shot_real", (0,), Cluster.default(), data=DATA)
    places = {row["x"] for row in found.rows}
    assert {"OpenCL kernels, load 0.9 (turnaround)", "cholesky of 8 tiles on mirage (makespan)"} <= places
    assert "srasearch-chameleon-10a-001 (makespan)" in places
    assert all(row["over_bound"] >= 1.0 for row in found.rows)


def test_the_adversary_attacks_every_learner_with_every_rival(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "LEARNT", ("greedy",))
    monkeypatch.setattr(experiments, "RIVALS", ("eft", "random"))
    monkeypatch.setattr(experiments, "ATTACK_STEPS", 5)
    found = experiments.run_experiment("adversary", (0,), Cluster.default())
    assert [(row["series"], row["x"]) for row in found.rows] == [("greedy", "eft"), ("greedy", "random")]
    assert found.rows[0]["ratio"] > 1.0


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'shift'"):
        experiments.run_experiment("shiftt", (0,), Cluster.default())


def test_an_experiment_never_replaces_results(tmp_path: Path) -> None:
    (tmp_path / "old.csv").write_text("precious")
    done = hms("experiment", "shift", "-o", str(tmp_path))
    assert done.code == 2
    assert "not empty" in done.err


def test_without_third_party_data_the_error_names_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HMS_DATA", raising=False)
    done = hms("experiment", "kernels", "-o", str(tmp_path / "new"))
    assert done.code == 2
    assert "experiment 'kernels' reads third-party data, and none was given: give the folder with --data" in done.err
    with pytest.raises(InputError, match="is no folder: give the folder with --data"):
        experiments.run_experiment("cholesky", (0,), Cluster.default(), data=tmp_path / "nowhere")


def test_predicted_times_replace_the_true_ones() -> None:
    kind = np.arange(40.0) % 2
    tasks = Tasks.build(
        np.ones(40), np.ones(40), np.ones(40), measured={"cpu": 1 + kind, "gpu": 2 - kind}, features={"kind": kind}
    )
    cluster = Cluster.default(gpus=1)
    tasks_seen = with_predicted_times(pretrain_on_workloads("hybrid_ml", [tasks], cluster), tasks, cluster)
    assert np.allclose(tasks_seen.expected["cpu"], 1 + kind)
    assert np.allclose(tasks_seen.expected["gpu"], 2 - kind)
    with pytest.raises(InputError, match="'greedy' has learnt no times"):
        with_predicted_times(registry.schedulers.create("greedy"), tasks, cluster)


@needs_data
def test_on_unseen_kernels_the_learner_beats_all_who_do_not_know_the_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "KERNEL_TASKS", 400)
    result = experiments.run_experiment("kernels", (0,), Cluster.default(), data=DATA)
    mean = {name: result.points(name, "mean_turnaround")[0.9].mean for name in result.series}
    assert all(mean["hybrid_ml"] < mean[name] for name in ("greedy", "round_robin", PREDICTED))
    assert result.points(TRUE, "regret")[0.9].mean == 0.0
    regret = result.points("greedy", "regret")[0.9].mean
    assert regret == pytest.approx(mean["greedy"] - mean[TRUE])


@needs_data
def test_on_a_measured_machine_plans_by_learnt_times_are_no_worse_than_heft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "MACHINES", ("mirage",))
    monkeypatch.setattr(experiments, "TILES", (7,))
    monkeypatch.setattr(experiments, "POLICIES", ("heft", "eft", "hybrid_ml"))
    result = experiments.run_experiment("cholesky", (0,), Cluster.default(), data=DATA)
    over = {name: result.points(name, "makespan_over_bound")["mirage, 7"].mean for name in result.series}
    assert 1.0 <= over["hybrid_ml"] <= 1.01 * over["heft"]
    assert over["hybrid_ml"] < over["eft"]
