"""A learner that knows nothing useful does as well as a simple rule that sees no more than it does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, DeviceClass, Node, Tasks
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.core.simulator import ESTIMATED, VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView, View, build_view
from hybrid_scheduler.schedulers.fallback import (
    choose_by_means,
    imagine_queues,
    is_doubted,
    is_proven,
    loses_to_rule,
    note_arrival,
    rank_by_means,
    weigh_theft,
)
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from instances import machines, workload

TASK = TaskView(0, 1.0, 0.5, 1.0, 0.0, np.nan, 0.0, np.full(2, np.nan))


def view_with(ended: list[list[float]]) -> View:
    view = build_view(Cluster.default(gpus=1))
    return view._replace(ended=np.array(ended), running_end=view.free.copy())


def unrelated(seed: int, scale: float, count: int = 200) -> tuple[Tasks, Cluster]:
    """Return a batch of tasks of which nothing is known but a matrix of times."""
    generator = np.random.default_rng(seed)
    return machines(scale * generator.uniform(1, 100, (count, 1)) * generator.uniform(1, 10, (count, 6)))


def test_predictions_are_doubted_unless_they_were_better_than_the_means() -> None:
    good, bad = view_with([[20, 1.0, 0.1, 1.0], [0, 0, 0, 0]]), view_with([[20, 1.0, 1.0, 1.0], [0, 0, 0, 0]])
    early, unknown = view_with([[3, 1.0, 2.0, 1.0], [0, 0, 0, 0]]), build_view(Cluster.default())
    assert is_proven(good)
    assert is_proven(unknown)  # where nobody keeps accounts
    assert not is_proven(bad)
    assert not is_proven(early)
    assert [is_doubted(each, predicts=True) for each in (good, bad, early, unknown)] == [False, True, False, False]
    assert is_doubted(early, predicts=False)


def test_the_rule_goes_by_the_means_of_each_class_and_by_what_waits() -> None:
    view = view_with([[20, 4.0, 0, 0], [20, 1.0, 0, 0]])
    assert choose_by_means(TASK, view) == (1.0, 1)
    view.waiting[1] = 4
    assert choose_by_means(TASK, view) == (0.0, 0)
    doubted = view_with([[20, 4.0, 1, 1], [20, 1.0, 1, 1]])
    doubted.waiting[1] = 4
    assert weigh_theft(np.zeros(3), TASK, doubted, 0, 1) == 0.0  # the GPU would have done all four by then
    doubted.waiting[1] = 5
    assert weigh_theft(np.zeros(3), TASK, doubted, 0, 1) == 5.0


def test_a_proven_learner_steals_where_all_gain_more_than_those_lose_who_come_later() -> None:
    view, arrivals = view_with([[20, 1.0, 0.5, 1], [20, 1.0, 0.5, 1]]), np.zeros(3)
    view.waiting[1], view.free[1], view.running_end[1] = 3, 6.0, 1.0
    task = TASK._replace(times=np.array([2.0, 1.0]))  # it would start after 1 s there: 2 s as here, and 3 s of others
    for now in np.arange(-99.0, 1.0):
        note_arrival(arrivals, now)
    assert weigh_theft(arrivals, task, view, 0, 1) == pytest.approx(3.0 - 0.5 * 2.0**2 * 1.0 / 2)
    slow = TASK._replace(times=np.array([5.0, 1.0]))
    assert weigh_theft(arrivals, slow, view, 0, 1) == 0.0  # it might end last: predictions err half as much as means
    loss = pytest.approx(0.0 - 0.5 * 5.0**2 * 1.0 / 2)
    view.ended[:, 2] = 0.1
    assert weigh_theft(arrivals, slow, view, 0, 1) == loss  # the surer they are, the less caution
    view.ended[:, 2], view.free[1] = 0.5, 20.0
    assert weigh_theft(arrivals, slow, view, 0, 1) == loss


def test_tasks_of_which_nothing_is_known_are_served_as_they_come_and_the_very_first_before_others() -> None:
    keys = [rank_by_means(0, np.array([[20, mean, 0, 0], [0, 0, 0, 0]])) for mean in (0.9, 1.0, 1.3, 4.0)]
    assert keys == [1.0, 1.0, 1.0, 4.0]
    assert rank_by_means(0, np.zeros((2, 4))) == 0.0


def test_a_learner_whose_decisions_take_longer_loses_to_the_rule_until_they_do_not() -> None:
    policy: Any = HybridML()
    policy.imagined, policy.account = imagine_queues(2)
    view, seconds = view_with([[20, 9.0, 0, 0], [20, 1.0, 0, 0]]), np.array([9.0, 1.0])
    followed = [
        loses_to_rule(policy, TASK._replace(ready_time=2.0 * row), view, 0 if row < 40 else 1, seconds)
        for row in range(1200)
    ]
    assert followed[30]
    assert not followed[-1]


@pytest.mark.parametrize("taught", [False, True])
def test_a_batch_of_which_nothing_is_known_takes_no_longer_than_by_work_stealing(taught: bool) -> None:
    tasks, cluster = unrelated(1, 1.0)
    learner = registry.schedulers.create("hybrid_ml:fallback=true", seed=0)
    if taught:
        learner.pretrain([unrelated(2, 1e-3)[0]], cluster, measured=True)  # a relative a thousand times as fast
    placed = Lane(learner, VirtualMultiGPU(cluster=cluster, backlog=ESTIMATED)).run(tasks)
    stolen = VirtualMultiGPU(cluster=cluster, backlog=ESTIMATED).run(
        tasks, registry.schedulers.create("work_stealing")
    )
    assert placed.makespan <= 1.1 * stolen.makespan
    assert placed.turnaround.mean() <= 1.1 * stolen.turnaround.mean()


def test_features_of_noise_do_no_harm() -> None:
    tasks = workload("mixed", 600, load=0.8)
    times = class_times(tasks, Cluster.default())
    noise = {name: np.random.default_rng(k).uniform(size=600) for k, name in enumerate("ab")}
    blank = np.ones(600)
    measured = {"cpu": times[:, 0], "gpu": times[:, 1]}
    strange = Tasks.build(blank, blank, blank, tasks.arrival_time, measured=measured, features=noise)
    placed = Lane(
        registry.schedulers.create("hybrid_ml:fallback=true", seed=0), VirtualMultiGPU(backlog=ESTIMATED)
    ).run(strange)
    simple = [
        VirtualMultiGPU().run(strange, registry.schedulers.create(name)).turnaround.mean()
        for name in ("work_stealing", "jsq")
    ]
    assert placed.turnaround.mean() <= 1.1 * min(simple)


def test_price_shares_tasks_out_where_one_class_is_so_many_times_as_fast_for_all() -> None:
    classes = DeviceClass("big", kind="cpu", speed=3.0), DeviceClass("little", kind="cpu")
    cluster = Cluster(classes, (Node({"big": 2, "little": 4}),))
    tasks = replace(workload("mixed", 300, load=None), arrival_time=np.linspace(0, 1, 300))
    ends = {
        name: VirtualMultiGPU(cluster=cluster, backlog=ESTIMATED)
        .run(tasks, registry.schedulers.create(name))
        .makespan
        for name in ("price", "eft")
    }
    assert ends["price"] <= 1.05 * ends["eft"]
