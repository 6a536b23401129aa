"""Hybrid ML on tasks that say more than the five features: columns of their own, and graphs."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from checks import check_schedule
from hybrid_scheduler import registry
from hybrid_scheduler.bounds.makespan import lower_bound
from hybrid_scheduler.core import Cluster, Placements, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.physics import best_split_times, class_times
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Floats, Ints
from hybrid_scheduler.core.view import View
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.learning.features import FEATURES
from hybrid_scheduler.learning.model_files import read_manifest, write_manifest
from hybrid_scheduler.schedulers.heft import search_plan
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.pretraining import pretrain_on_workloads
from hybrid_scheduler.workloads import WorkloadGenerator

ONE_EACH = Cluster.default(gpus=1)
STAND = Cluster.from_dict({"nodes": [{"cpu": 6, "gpu": 2}], "classes": {"gpu": {"speedup_slope": 15.0}}})


def kernels(count: int, seed: int, gap: float = 0.0, told: bool = True) -> Tasks:
    """Tasks of which one column tells everything and the five features nothing; one in fifty is huge."""
    generator = np.random.default_rng(seed)
    kind = generator.choice(4, count, p=[0.49, 0.25, 0.24, 0.02]).astype(float)
    cpu, gpu = (np.array(each)[kind.astype(int)] for each in ((0.1, 1.0, 1.0, 40.0), (0.5, 0.1, 0.6, 30.0)))
    same = np.full(count, 500.0)
    return Tasks.build(
        same,
        np.full(count, 0.5),
        np.full(count, 10.0),
        arrival_time=np.cumsum(generator.exponential(gap, count)) if gap else None,
        measured={"cpu": cpu, "gpu": gpu},
        features={"kind": kind} if told else {},
    )


def run(policy: Scheduler, tasks: Tasks, cluster: Cluster = ONE_EACH, mode: str = "queued") -> Placements:
    return Lane(policy, VirtualMultiGPU(cluster=cluster, mode=mode)).run(tasks)


def graph(preset: str, count: int, seed: int = 0, cluster: Cluster = STAND) -> Tasks:
    return WorkloadGenerator(seed).generate_preset(preset, count, load=5.0, cluster=cluster)


# --- columns of their own -------------------------------------------------------------------------


def test_it_learns_all_from_a_column_that_tasks_carry() -> None:
    tasks = kernels(160, 1, 1.0)
    execution = run(HybridML(), tasks, mode="isolated").execution[60:]
    assert execution.sum() < 1.001 * best_split_times(class_times(tasks, ONE_EACH), ONE_EACH)[60:].sum()


def test_taught_it_keeps_huge_tasks_out_of_the_way_and_beats_the_earliest_finish_on_the_true_times() -> None:
    tasks, workloads = kernels(3000, 2, 0.75), kernels(500, 3)
    ours = run(
        pretrain_on_workloads("hybrid_ml:online=false:order=fifo", [workloads], ONE_EACH), tasks
    ).turnaround.mean()
    selfish = run(
        pretrain_on_workloads("hybrid_ml:online=false:order=fifo:rule=earliest", [workloads], ONE_EACH), tasks
    ).turnaround.mean()
    eft = run(registry.schedulers.create("eft"), tasks).turnaround.mean()
    assert selfish == pytest.approx(eft, rel=0.01)  # the times are learnt, all that differs is the rule
    assert ours < 0.9 * eft


def test_a_model_remembers_its_columns_and_demands_them(tmp_path: Path) -> None:
    policy = pretrain_on_workloads("hybrid_ml", [kernels(200, 4)], ONE_EACH)
    policy.save(tmp_path / "times.model")
    assert read_manifest(tmp_path / "times.model")["features"] == ["feature_kind"]
    loaded = registry.schedulers.create(f"hybrid_ml:online=false:model={tmp_path / 'times.model'}")
    frozen = pretrain_on_workloads("hybrid_ml:online=false", [kernels(200, 4)], ONE_EACH)
    tasks = kernels(100, 5, 1.0)
    assert np.array_equal(run(frozen, tasks).finish, run(loaded, tasks).finish)
    with pytest.raises(InputError, match="trained on feature_kind, which these tasks do not carry"):
        run(loaded, kernels(10, 6, told=False))


def test_what_was_learnt_of_both_kinds_of_tasks_is_kept_in_one_file(tmp_path: Path) -> None:
    policy = HybridML(order="fifo")  # what it knows of queues is not part of a model
    run(policy, kernels(60, 7, 1.0, told=False))
    run(policy, kernels(60, 8, 1.0))
    policy.save(tmp_path / "both.model")
    for told in (True, False):
        loaded = HybridML(order="fifo", model=str(tmp_path / "both.model"))
        assert np.array_equal(
            run(loaded, kernels(4, 9, 1.0, told)).finish, run(policy, kernels(4, 9, 1.0, told)).finish
        )


def test_a_file_from_before_there_were_learnt_times_is_read(tmp_path: Path) -> None:
    policy, tasks = HybridML(), kernels(60, 7, 1.0, told=False)
    run(policy, tasks)
    assert policy._models is not None
    old = replace(policy._models, last_fit=None)
    del vars(old)["durations"]  # as it was pickled then
    (tmp_path / "old.model").write_bytes(pickle.dumps(old))
    write_manifest(tmp_path / "old.model", kind="hybrid_ml", features=FEATURES, training={})
    loaded, frozen = HybridML(online=False, model=str(tmp_path / "old.model")), HybridML(online=False)
    frozen.set_model(policy._models)
    assert np.array_equal(run(loaded, tasks).finish, run(frozen, tasks).finish)


def test_it_tells_which_columns_matter() -> None:
    policy = pretrain_on_workloads("hybrid_ml", [kernels(200, 4)], ONE_EACH)
    assert isinstance(policy, HybridML)
    assert policy.insight.feature_importance == {"feature_kind": pytest.approx(1.0)}
    assert policy.insight.retrains == 1


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(InputError, match="rule is 'best', expected least or earliest"):
        HybridML(rule="best")


# --- graphs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["cholesky", "layered", "fork_join"])
def test_taught_on_smaller_graphs_it_comes_close_to_heft_that_knows_the_times(preset: str) -> None:
    tasks, workloads = graph(preset, 364), [graph(preset, 120, seed) for seed in (1, 2, 3)]
    placements = run(pretrain_on_workloads("hybrid_ml", workloads, STAND), tasks, STAND)
    check_schedule(placements)
    heft = run(registry.schedulers.create("heft"), tasks, STAND).makespan
    untaught = run(HybridML(), tasks, STAND).makespan
    assert placements.makespan < 1.1 * heft
    assert placements.makespan < untaught


def test_it_learns_from_one_graph_for_the_next() -> None:
    policy = HybridML()
    first, second = (run(policy, graph("cholesky", 220, seed), STAND) for seed in (0, 1))
    assert second.makespan < 0.9 * first.makespan


def test_a_plan_is_no_longer_than_that_of_heft_and_the_same_twice() -> None:
    tasks = graph("layered", 300)
    times, view = class_times(tasks, STAND), VirtualMultiGPU(cluster=STAND).view
    made, again = (search_plan(tasks, times, view, seed=1) for _ in range(2))
    assert np.array_equal(made.device, again.device)
    assert np.array_equal(made.order, again.order)
    assert sorted(made.order.tolist()) == list(range(300))

    class Followed(Scheduler):
        name = "followed"
        device = made.device

        def prepare(self, tasks: Tasks, times: Floats, view: View) -> Ints:
            return made.order

        def choose(self, task, view):  # type: ignore[no-untyped-def]  # a policy of two lines
            return float(view.kind[self.device[task.row]]), self.device[task.row]

    heft = run(registry.schedulers.create("heft"), tasks, STAND).makespan
    planned = run(Followed(), tasks, STAND)
    check_schedule(planned)
    assert lower_bound(tasks, STAND).makespan <= planned.makespan <= heft


def test_a_plan_that_comes_to_nothing_is_left() -> None:
    """It has learnt that GPUs are quick; then they take a hundred times as long."""
    workloads, tasks = graph("fork_join", 100, 1), graph("fork_join", 100, 2)
    times = class_times(tasks, STAND)
    slow = Tasks.build(
        tasks.size,
        tasks.compute_intensity,
        tasks.memory_required,
        edges=tasks.edges,
        measured={"cpu": times[:, 0], "gpu": 100 * times[:, 1]},
    )
    policy = pretrain_on_workloads("hybrid_ml", [workloads], STAND)
    placements = run(policy, slow, STAND)
    assert isinstance(policy, HybridML)
    planned = float(np.mean(placements.cluster.is_gpu[policy.device]))
    assert placements.gpu_fraction.mean() < planned
