"""On a graph of which it knows nothing, or what is wrong, a learner is as good as the best simple rule."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Tasks
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import INDIVISIBLE, Edges
from hybrid_scheduler.core.view import TaskView, View, build_view
from hybrid_scheduler.schedulers.graph_rule import (
    GraphAccount,
    bear_risk,
    choose_in_graph,
    expect_in_graph,
    follows_model,
    group_kernels,
    is_wrong,
    open_account,
    read_history,
    weigh_theft_in_graph,
)
from hybrid_scheduler.studies.unfamiliar import LEARNERS, Setting, judge_learners
from hybrid_scheduler.workloads.graphs import FACTORISATIONS, find_dependencies

CLUSTER = Cluster.from_dict({"nodes": [{"cpu": 6, "gpu": 3}]})
LU = {"getrf": (117.0, 63.0), "trsm_ll": (52.0, 7.0), "trsm_ru": (46.0, 4.0), "gemm": (89.0, 3.0)}
CHOLESKY = {"potrf": (21.0, 55.0), "trsm": (47.0, 7.0), "syrk": (45.0, 1.4), "gemm": (90.0, 2.8)}
CPU, GPU = 0, 1


def factorise(name: str, kernels: dict[str, tuple[float, float]], tiles: int, seed: int) -> Tasks:
    """Return a factorisation whose kernels take random times around those of a machine with GPUs."""
    steps, generator = list(FACTORISATIONS[name](tiles)), np.random.default_rng(seed)
    seconds = {kind: np.array(each) * generator.lognormal(0.0, 0.2, 2) for kind, each in kernels.items()}
    parents, _ = find_dependencies(steps)
    starts = np.cumsum([0, *map(len, parents)]).astype(np.int64)
    edges = Edges(starts, np.array(list(chain.from_iterable(parents)), np.int64), np.zeros(starts[-1]))
    ones, numbers = np.ones(len(steps)), {kind: float(place) for place, kind in enumerate(sorted(kernels))}
    times = np.array([seconds[step.kernel] for step in steps])
    return Tasks.build(
        100.0 * ones,
        0.9 * ones,
        ones,
        edges=edges,
        measured={"cpu": times[:, 0], "gpu": times[:, 1]},
        features={"kernel": [numbers[step.kernel] for step in steps]},
        traits={INDIVISIBLE: ones},
    )


@pytest.mark.parametrize("seed", range(3))
def test_learners_lose_little_to_the_best_rule_on_a_graph_first_seen(seed: int) -> None:
    setting = Setting(factorise("lu", LU, 8, seed), CLUSTER)
    for name, standing in judge_learners(setting, seed, LEARNERS).items():
        assert max(standing[:3]) <= 1.1, name


@pytest.mark.parametrize("seed", range(3))
def test_learners_lose_little_to_the_best_rule_if_they_were_taught_on_the_wrong_relative(seed: int) -> None:
    setting = Setting(factorise("lu", LU, 8, seed), CLUSTER, [factorise("cholesky", CHOLESKY, 6, seed + 100)])
    for name, standing in judge_learners(setting, seed, ("hybrid_ml", "attention_agent")).items():
        assert max(standing[:3]) <= 1.3, name


def test_kernels_are_told_apart_by_columns_with_few_values() -> None:
    tasks = factorise("lu", LU, 6, 0)
    groups = group_kernels(tasks)
    assert len(np.unique(groups)) == 4
    assert all(len(np.unique(tasks.features["kernel"][groups == each])) == 1 for each in range(4))
    unlike = 1.0 + np.arange(len(tasks))
    assert not group_kernels(Tasks.build(unlike, unlike / 1e3, unlike, edges=tasks.edges)).any()


# --- the account of a graph ---------------------------------------------------------------------------------------


def pair_of_kernels(predicted: list[list[float]] | None = None) -> tuple[GraphAccount, View]:
    """Return the account of a graph of 4 tasks of kernel 0 and 4 of kernel 1, and a view of a CPU and a GPU."""
    chain_of_two = Edges(np.array([0, 0, 1, 1, 1, 1, 1, 1, 1]), np.zeros(1, np.int64), np.zeros(1))
    ones, kernel = np.ones(8), np.repeat([0.0, 1.0], 4)
    tasks = Tasks.build(ones, 0.9 * ones, ones, edges=chain_of_two, features={"kernel": kernel})
    seconds = None if predicted is None else np.array(predicted)[kernel.astype(int)]
    view = build_view(Cluster.default(gpus=1))
    view = view._replace(
        running_end=view.free.copy(), ended=np.zeros((2, 4)), history=np.zeros((9, 3)), expected=np.ones((8, 2))
    )
    return open_account(tasks, 2, seconds), view


def end(account: GraphAccount, view: View, row: int, kind: int, seconds: float) -> None:
    """Let a task end."""
    view.history[0, 0] += 1
    view.history[int(view.history[0, 0])] = row, kind, seconds
    view.ended[kind, :2] = view.ended[kind, 0] + 1, seconds
    read_history(account, view)


def see(row: int) -> TaskView:
    """Return what a scheduler sees of a task."""
    return TaskView(row, 1.0, 0.9, 1.0, 0.0, np.nan, 0.0, np.full(2, np.nan))


def test_a_kernel_takes_as_long_as_those_of_it_that_have_ended() -> None:
    account, view = pair_of_kernels()
    end(account, view, 0, GPU, 2.0)
    end(account, view, 1, GPU, 4.0)
    end(account, view, 4, GPU, 9.0)
    assert expect_in_graph(account, 2, GPU, view) == 3.0
    assert expect_in_graph(account, 5, GPU, view) == 9.0


def test_an_unknown_kernel_follows_greedy_and_one_at_a_time_tries_another_class_if_the_queue_is_long() -> None:
    account, view = pair_of_kernels()
    assert [choose_in_graph(account, see(row), view) for row in (0, 1)] == [GPU, GPU]
    end(account, view, 0, GPU, 1.0)
    view.free[GPU] = 6.5
    assert choose_in_graph(account, see(1), view) == GPU  # a CPU might take eight times as long
    view.free[GPU] = 7.5
    assert choose_in_graph(account, see(2), view) == CPU
    assert choose_in_graph(account, see(3), view) == GPU  # until it is known how long that takes
    end(account, view, 2, CPU, 2.0)
    assert choose_in_graph(account, see(3), view) == CPU


def test_predictions_of_a_kernel_count_until_they_are_wrong() -> None:
    account, view = pair_of_kernels([[1.0, 3.0], [5.0, 2.0]])
    assert choose_in_graph(account, see(0), view) == CPU
    assert follows_model(account, 1, view)
    end(account, view, 0, CPU, 9.0)
    assert is_wrong(account, 1)
    assert not follows_model(account, 1, view)
    assert follows_model(account, 4, view)  # the other kernel has not been put to the test
    assert choose_in_graph(account, see(1), view) == GPU
    assert view.expected[1].tolist() == [9.0, 3.0]
    end(account, view, 4, GPU, 2.1)
    assert expect_in_graph(account, 5, GPU, view) == pytest.approx(2.1)  # right but for a factor
    assert not is_wrong(account, 5)


def test_an_idle_device_of_another_class_steals_only_what_ends_earlier_there() -> None:
    account, view = pair_of_kernels()
    end(account, view, 0, GPU, 1.0)
    view.free[GPU], view.running_end[GPU] = 5.0, 1.0
    assert weigh_theft_in_graph(account, see(1), view, CPU, GPU) == 0.0
    end(account, view, 2, CPU, 4.0)
    assert weigh_theft_in_graph(account, see(1), view, CPU, GPU) == pytest.approx(1.0)
    assert bear_risk(account, 1, CPU, GPU, -1, CPU, view) == 4.0


@pytest.mark.parametrize("name", LEARNERS)
def test_decisions_in_a_graph_are_the_same_compiled_and_interpreted(name: str) -> None:
    tasks = factorise("lu", LU, 5, 1)
    runs = [
        VirtualMultiGPU(cluster=CLUSTER).run(tasks, registry.schedulers.create(name, seed=1), interpreted=plain)
        for plain in (True, False)
    ]
    assert np.array_equal(runs[0].finish, runs[1].finish)
