"""Hybrid ML: learns an obvious answer, beats perfect eyesight under load, adapts to a shift, keeps its files."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.learning.features import FEATURES, task_features
from hybrid_scheduler.learning.model_files import read_manifest
from hybrid_scheduler.learning.predictors import MODEL_TYPES, OfflineTrainer, RandomForestPredictor
from hybrid_scheduler.schedulers.explain import explain
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.studies.online_scheduler import OnlineScheduler
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from instances import TWO_NODES, workload


def run(policy: HybridML, tasks: Tasks, mode: str = "queued", cluster: Cluster | None = None) -> Placements:
    return Lane(policy, VirtualMultiGPU(cluster=cluster or Cluster.default(), mode=mode)).run(tasks)


def test_it_learns_an_obvious_answer() -> None:
    """Small tasks are a hundred times faster on the CPU, large ones on the GPU."""
    generator = np.random.default_rng(0)
    size = np.where(generator.random(600) < 0.5, 200.0, 4000.0)
    small = size < 1000
    tasks = Tasks.build(
        size,
        generator.random(600),
        np.full(600, 50.0),
        arrival_time=np.cumsum(generator.exponential(0.5, 600)),
        measured={"cpu": np.where(small, 0.01, 1.0), "gpu": np.where(small, 1.0, 0.01)},
    )
    placements = run(HybridML(), tasks)
    assert np.array_equal(placements.gpu_fraction[100:], (~small[100:]).astype(float))


@pytest.mark.parametrize(
    ("preset", "count", "load"), [("mixed", 3000, 2.0), ("long_tail", 3000, 1.0), ("long_tail", 5000, 3.6)]
)
def test_it_gets_within_two_per_cent_of_the_bound_and_beats_eft_under_load(
    preset: str, count: int, load: float
) -> None:
    tasks = workload(preset, count, seed=11, load=load)
    bound = lower_bound(tasks, Cluster.default()).makespan
    ours = run(HybridML(), tasks).makespan
    eft = VirtualMultiGPU().run(tasks, registry.schedulers.create("eft")).makespan
    assert ours / bound < 1.03
    assert ours < eft


def test_it_halves_the_turnaround_of_eft_near_full_load() -> None:
    tasks = workload("long_tail", 3000, seed=12, load=0.96)
    eft = VirtualMultiGPU().run(tasks, registry.schedulers.create("eft"))
    assert run(HybridML(), tasks).turnaround.mean() < 0.5 * eft.turnaround.mean()


def test_shortest_first_by_learnt_times_cuts_turnaround_and_keeps_the_makespan() -> None:
    tasks = workload("mixed", 1500, seed=5, load=2.0)
    fifo, ordered = run(HybridML(order="fifo"), tasks), run(HybridML(), tasks)
    check_schedule(ordered)
    assert ordered.turnaround.mean() < 0.45 * fifo.turnaround.mean()
    assert ordered.makespan < 1.02 * fifo.makespan


def test_isolated_it_comes_close_to_the_closed_form_once_it_has_learnt() -> None:
    tasks = workload("mixed", 2500)
    placements = run(HybridML(window_size=2000, tolerance=0.01, retrain_interval=250), tasks, mode="isolated")
    best = best_split_times(class_times(tasks, Cluster.default()), Cluster.default())
    learnt = slice(1500, None)
    assert placements.execution[learnt].sum() / best[learnt].sum() < 1.04


def test_online_learning_survives_a_shift_that_ruins_a_static_forest() -> None:
    before = workload("gpu_friendly", 1000, load=0.9)
    after = workload("cpu_friendly", 500, load=0.9)
    online = HybridML()
    run(online, before, mode="isolated")
    static = deepcopy(online)
    static.learn_every = 0
    adapted, ruined = (run(policy, after, mode="isolated").execution.sum() for policy in (online, static))
    assert adapted < 0.5 * ruined


def test_it_schedules_several_nodes_and_classes() -> None:
    placements = run(HybridML(), workload("mixed", 300), cluster=TWO_NODES)
    check_schedule(placements)
    assert len(np.unique(placements.gpu)) > 3


def test_it_learns_alike_twice_and_by_another_seed_otherwise() -> None:
    tasks = workload("mixed", 250, load=2.0)
    one, same, other = (run(HybridML(seed=seed), tasks).finish for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_it_decides_alike_after_saving_and_loading(tmp_path: Path) -> None:
    policy = HybridML(order="fifo")  # what it knows of queues is not part of the model
    run(policy, workload("mixed", 400))
    policy.save(tmp_path / "forest.pkl")
    tasks = workload("mixed", 200, seed=5)
    policy.learn_every = 0
    loaded = registry.schedulers.create(f"hybrid_ml:order=fifo:online=false:model={tmp_path / 'forest.pkl'}")
    assert np.array_equal(run(policy, tasks).finish, run(loaded, tasks).finish)


def test_an_untrained_policy_cannot_be_saved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not trained yet"):
        HybridML().save(tmp_path / "forest.pkl")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [{"retrain_interval": 0}, {"window_size": 0}, {"energy_weight": 1.5}, {"order": "longest"}]
)
def test_impossible_options_are_refused(options: dict[str, float | str]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        HybridML(**options)  # type: ignore[arg-type]  # wrong on purpose


def test_it_tells_which_features_moved_a_share() -> None:
    policy = HybridML()
    assert policy._contributions(TaskView(0, 1000.0, 0.9, 10.0, 0.0, 1.0, 0.0, np.empty(0))) == {}
    run(policy, workload("mixed", 300))
    heavy = policy._contributions(TaskView(0, 300.0, 0.1, 480.0, 0.0, 1.0, 0.0, np.empty(0)))
    light = policy._contributions(TaskView(0, 4000.0, 0.9, 15.0, 0.0, 1.0, 0.0, np.empty(0)))
    assert sum(heavy.values()) < 0 < sum(light.values())
    assert policy.insight.retrains > 0


def test_the_online_scheduler_of_the_guide_takes_tasks_one_by_one() -> None:
    scheduler = OnlineScheduler(num_gpus=4)
    assert scheduler.process_queue() == []
    assert scheduler.get_utilization()["average_utilization"] == 0.0
    tasks = list(workload("mixed", 120))
    for task in tasks[:60]:
        scheduler.submit_task(task)
    first = scheduler.process_queue()
    for task in tasks[60:]:
        scheduler.submit_task(task)
    decisions = first + scheduler.process_queue()
    assert [decision.task_id for decision in decisions] == [task.task_id for task in tasks]
    assert all(0 <= decision.gpu_fraction <= 1 and -1 <= decision.gpu_id < 4 for decision in decisions)
    use = scheduler.get_utilization()
    assert set(use) == {"gpu_0", "gpu_1", "gpu_2", "gpu_3", "average_utilization"}
    assert 0 < use["average_utilization"] <= 1


def test_a_model_of_another_cluster_is_refused(tmp_path: Path) -> None:
    policy = HybridML()
    run(policy, workload("mixed", 100))
    policy.save(tmp_path / "forest.pkl")
    assert read_manifest(tmp_path / "forest.pkl")["cluster"] == {"cpu": 1, "gpu": 4}
    loaded = HybridML(model=str(tmp_path / "forest.pkl"))
    with pytest.raises(InputError, match="knows the 2 device classes cpu, gpu, this cluster has 3"):
        run(loaded, workload("mixed", 20), cluster=TWO_NODES)


@pytest.mark.parametrize("order", ["shortest", "fifo"])
def test_more_energy_weight_means_less_energy_and_more_time(order: str) -> None:
    tasks = workload("mixed", 700, load=0.7)
    runs = [run(HybridML(order=order, energy_weight=weight), tasks) for weight in (0.0, 0.4, 0.7, 1.0)]
    assert (np.diff([placed.energy.sum() for placed in runs]) < 0).all()
    times = np.array([placed.turnaround.mean() for placed in runs])
    assert (np.diff(times) > -0.03 * times[0]).all()  # seconds that nobody misses are given up first
    assert times[-1] > times[0]


def test_with_custom_features_it_learns_while_tasks_wait_in_ordered_queues() -> None:
    tasks = workload("mixed", 400, load=2.0)
    policy = HybridML()
    times = class_times(tasks, Cluster.default())
    measured = replace(tasks, measured={"cpu": times[:, 0], "gpu": times[:, 1]}, features={"flops": times[:, 0]})
    check_schedule(run(policy, measured))
    assert policy.duration_model is not None
    assert policy.duration_model.retrains > 3


def test_its_explanation_tells_how_far_it_leans() -> None:
    policy = HybridML()
    machine = VirtualMultiGPU()
    tasks = workload("mixed", 200)
    Lane(policy, machine).run(tasks)
    policy.prepare(tasks, np.full((200, 2), np.nan), machine.view)
    task = TaskView(0, float(tasks.size[0]), 0.5, 100.0, 0.0, 1.0, 0.0, np.full(2, np.nan))
    told = explain(policy, task, machine.view).candidates
    assert told[0].score is not None
    assert told[1].score is not None
    assert told[0].score + told[1].score == pytest.approx(1.0)


@pytest.mark.parametrize("model_type", sorted(MODEL_TYPES))
def test_any_type_of_model_learns_the_shares(model_type: str) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 120, load=0.9, cluster=Cluster.default())
    policy = HybridML(model_type=model_type, n_estimators=10, retrain_interval=60)
    Lane(policy, VirtualMultiGPU()).run(tasks)
    assert policy.is_trained
    assert sum(policy.insight.feature_importance.values()) == pytest.approx(1.0)


def test_an_unknown_type_of_model_is_refused() -> None:
    with pytest.raises(SchedulerError, match=r"model type 'svn'.*did you mean 'svm'"):
        HybridML(model_type="svn")


def test_what_the_offline_trainer_wrote_can_race_and_a_model_of_durations_cannot(tmp_path: Path) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 200, load=0.9, cluster=Cluster.default())
    path = tmp_path / "scheduler_model.pkl"
    OfflineTrainer(n_estimators=10).run_full_pipeline(tasks, path)
    policy = registry.schedulers.create(f"hybrid_ml:model={path}")
    assert policy.is_trained
    placed = Lane(policy, VirtualMultiGPU()).run(tasks)
    assert placed.ran.all()
    wrong = RandomForestPredictor(10)
    wrong.fit(pd.DataFrame(task_features(tasks), columns=list(FEATURES)), 100.0 * tasks.duration_estimate, cv=0)
    wrong.save(path)
    with pytest.raises(InputError, match=r"scheduler_model.pkl predicts .* a GPU share is from 0 to 1"):
        HybridML(model=str(path))
    with pytest.raises(InputError, match="something else, such as durations"):
        HybridML().set_model(wrong)


def test_every_learner_saves_and_loads_by_the_names_of_the_guide(tmp_path: Path) -> None:
    tasks = WorkloadGenerator(3).generate_preset("mixed", 60, load=0.9, cluster=Cluster.default())
    for name in ("hybrid_ml", "rl_agent:model=none"):
        policy, again = (registry.schedulers.create(name) for _ in range(2))
        Lane(policy, VirtualMultiGPU()).run(tasks)
        policy.save_model(tmp_path / name[:5])
        again.load_model(tmp_path / name[:5])
        assert (tmp_path / f"{name[:5]}.json").is_file()
