"""Comparisons: common random numbers, learning lanes, capacity."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core import Cluster, Placements
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.capacity import backlog_growth, capacity
from hybrid_scheduler.studies.compare import Comparison, compare
from hybrid_scheduler.workloads.generator import at_rate, full_rate
from hybrid_scheduler.workloads.source import Source
from instances import workload


def test_all_schedulers_get_the_same_tasks_and_every_seed_other_ones() -> None:
    result = compare(Comparison(Source.of("mixed", 80), ("eft", "greedy"), seeds=(4, 5)))
    digests = [outcome.workload["digest"] for outcome in result.outcomes]
    assert digests[0] != digests[1]
    assert result.values("eft", "rejected") == [0.0, 0.0]


def test_a_comparison_repeats_to_the_last_bit() -> None:
    comparison = Comparison(Source.of("bursty", 120), ("random", "oracle", "price"), seeds=(1, 2))
    again = Comparison.from_dict(comparison.to_dict())
    one, other = compare(comparison), compare(again)
    assert [outcome.measures for outcome in one.outcomes] == [outcome.measures for outcome in other.outcomes]


def test_regret_is_measured_against_the_oracle_even_if_it_does_not_take_part() -> None:
    alone = compare(Comparison(Source.of("mixed", 60), ("greedy",), seeds=(1,)))
    beside = compare(Comparison(Source.of("mixed", 60), ("greedy", "oracle"), seeds=(1,)))
    assert alone.values("greedy", "regret") == beside.values("greedy", "regret")
    assert beside.values("oracle", "regret") == [0.0]
    assert alone.values("greedy", "regret")[0] > 0


def test_the_race_of_the_seeds_has_the_oracle_at_the_bottom_when_isolated() -> None:
    names = ("round_robin", "random", "greedy", "oracle", "eft")
    result = compare(Comparison(Source.of("mixed", 500), names, mode="isolated", seeds=(0, 1)))
    assert result.ranking("mean_execution")[0] == "oracle"


def test_ranking_puts_the_smallest_mean_first() -> None:
    result = compare(Comparison(Source.of("mixed", 300, load=2.0), ("greedy", "price", "eft"), seeds=(0, 1)))
    assert result.ranking() == ["price", "eft", "greedy"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schedulers": ()}, "no scheduler"),
        ({"schedulers": ("eft", "eft")}, "named twice"),
        ({"schedulers": ("eft",), "seeds": ()}, "no seed"),
    ],
)
def test_a_comparison_of_nothing_is_refused(options: dict[str, tuple[str, ...]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Comparison(Source.of("mixed", 10), **options)  # type: ignore[arg-type]


def test_an_unknown_scheduler_is_refused_before_any_work() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'greedy'"):
        Comparison(Source.of("mixed", 10), ("eft", "greeedy"))


class Counting(Scheduler):
    """Sends everything to the CPU and notes what it is taught."""

    name = "counting"
    learn_every = 40

    def __init__(self) -> None:
        self.blocks: list[int] = []

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        return 0.0, 0

    def learn(self, placements: Placements) -> None:
        self.blocks.append(len(placements))


def test_a_lane_teaches_its_scheduler_after_every_block() -> None:
    scheduler = Counting()
    tasks = workload("mixed", 100)
    placements = Lane(scheduler, VirtualMultiGPU()).run(tasks)
    assert scheduler.blocks == [40, 40, 20]
    whole = VirtualMultiGPU().run(tasks, Counting())
    assert np.array_equal(placements.finish, whole.finish)
    assert placements.tasks is tasks


def test_offered_load_one_is_what_the_cluster_can_do_at_best() -> None:
    tasks, cluster = workload("mixed", 4000), Cluster.default()
    best = full_rate(tasks, cluster)
    assert backlog_growth(at_rate(tasks, 0.9 * best), registry.schedulers.create("price"), cluster) < 0.005
    for name in registry.schedulers.featured:
        assert backlog_growth(at_rate(tasks, 1.2 * best), registry.schedulers.create(name), cluster) > 0.1, name


def test_capacity_ranks_policies_and_none_passes_the_optimum() -> None:
    source, cluster = Source.of("mixed", 4000), Cluster.default()
    found = {name: capacity(source, name, cluster, (0, 1)) for name in ("round_robin", "greedy", "eft", "price")}
    assert found["greedy"].load.mean < found["round_robin"].load.mean < found["eft"].load.mean <= 1.0
    assert found["round_robin"].load.mean == pytest.approx(0.25, abs=0.04)
    assert found["eft"].load.mean > 0.85
