"""Comparisons: common random numbers, learning lanes, and the verdict."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hand_made import CLEAR, TIED, make_result
from hybrid_scheduler.core import Placements
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.errors import InputError, PolicyError, UnknownNameError
from hybrid_scheduler.schedulers.scheduler import Scheduler
from hybrid_scheduler.studies.compare import ANY, WHOLE, Comparison, certify, compare, shorten_names
from hybrid_scheduler.workloads.formats import csv
from hybrid_scheduler.workloads.source import Source
from instances import workload


def test_all_schedulers_get_the_same_tasks_and_every_seed_other_ones() -> None:
    result = compare(Comparison(Source.of("mixed", 80), ("eft", "greedy"), seeds=(4, 5)))
    digests = [outcome.workload["digest"] for outcome in result.outcomes]
    assert digests[0] != digests[1]
    assert result.values("eft", "rejected") == [0.0, 0.0]


def test_a_comparison_repeats_bit_for_bit() -> None:
    comparison = Comparison(Source.of("bursty", 120), ("random", "oracle", "price"), seeds=(1, 2))
    again = Comparison.from_dict(comparison.to_dict())
    one, other = compare(comparison), compare(again)
    assert [outcome.measures for outcome in one.outcomes] == [outcome.measures for outcome in other.outcomes]


def test_learners_are_taught_other_tasks_first_and_others_are_not() -> None:
    comparison = Comparison(Source.of("mixed", 60, load=1.5), ("hybrid_ml", "jsq"), seeds=(1,))
    taught = replace(comparison, lessons=(Source.of("mixed", 300, load=1.5),))
    assert Comparison.from_dict(taught.to_dict()) == taught
    before, after = (compare(each).outcomes[0].measures for each in (comparison, taught))
    assert after["jsq"] == before["jsq"]
    assert after["hybrid_ml"]["mean_turnaround"] < 0.9 * before["hybrid_ml"]["mean_turnaround"]


def test_seeds_in_several_processes_give_the_same_bits_in_the_same_order() -> None:
    comparison = Comparison(Source.of("mixed", 60), ("eft", "hybrid_ml"), seeds=(3, 1, 2, 0))
    seen: list[tuple[int, int]] = []
    one, other = compare(comparison), compare(comparison, lambda *done: seen.append(done), processes=2)
    assert [each.measures for each in one.outcomes] == [each.measures for each in other.outcomes]
    assert [each.seed for each in other.outcomes] == [3, 1, 2, 0]
    assert seen == [(done, 12) for done in range(13)], "bounds, the learner and the other are jobs of their own"


def test_seeds_on_a_file_have_one_certificate_and_with_noise_each_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[object] = []

    def certify_and_count(*given: Any) -> Any:
        found.append(given)
        return certify(*given)

    monkeypatch.setattr("hybrid_scheduler.studies.compare.certify", certify_and_count)
    file = tmp_path / "tasks.csv"
    csv.write(workload("mixed", 40), file)
    schedulers, seeds = ("jsq", "round_robin", "hybrid_ml"), (0, 1, 2, 3)
    whole = compare(Comparison(Source.of(str(file)), schedulers, seeds=seeds))
    assert len(found) == 1
    assert len({outcome.bound.makespan for outcome in whole.outcomes}) == 1
    parts = compare(whole.comparison, processes=2)
    assert [each.measures for each in parts.outcomes] == [each.measures for each in whole.outcomes]
    alone = [compare(replace(whole.comparison, seeds=(seed,))).outcomes[0].measures for seed in seeds]
    assert alone == [each.measures for each in whole.outcomes]
    found.clear()
    compare(Comparison(Source.of(str(file), noise="0.2"), ("eft",), seeds=seeds))
    assert len(found) == 4


def test_a_learner_that_alone_splits_tasks_gets_the_bound_for_any_schedule_from_several_processes(
    tmp_path: Path,
) -> None:
    plug_in = tmp_path / "halving.py"
    plug_in.write_text(
        "from hybrid_scheduler.schedulers.learner import Learner\n\n\n"
        "class Halving(Learner):\n    name, splits, learn_every = 'halving', True, 10\n\n"
        "    def choose(self, task, view):\n        return 0.5, int(view.gpus[0])\n\n"
        "    def learn(self, placements):\n        pass\n"
    )
    comparison = Comparison(Source.of("mixed", 40), ("eft", f"{plug_in}:Halving"), seeds=(0, 1, 2, 3))
    one, other = compare(comparison), compare(comparison, processes=2)
    assert all(ANY in each.turnaround_bounds for each in one.outcomes)
    assert [each.turnaround_bounds for each in one.outcomes] == [each.turnaround_bounds for each in other.outcomes]
    assert [each.measures for each in one.outcomes] == [each.measures for each in other.outcomes]


def test_what_fails_in_a_process_is_said_with_its_own_error(tmp_path: Path) -> None:
    plug_in = tmp_path / "wrong.py"
    plug_in.write_text("def wrong(task, view):\n    return 2.0, 0\n")
    comparison = Comparison(Source.of("mixed", 40), (f"{plug_in}:wrong", "hybrid_ml"), seeds=(0, 1, 2, 3))
    with pytest.raises(PolicyError, match="gpu_fraction is a number from 0 to 1"):
        compare(comparison, processes=2)


def test_regret_is_measured_against_the_oracle_even_if_it_is_not_compared() -> None:
    alone = compare(Comparison(Source.of("mixed", 60), ("greedy",), seeds=(1,)))
    beside = compare(Comparison(Source.of("mixed", 60), ("greedy", "oracle"), seeds=(1,)))
    assert alone.values("greedy", "regret") == beside.values("greedy", "regret")
    assert beside.values("oracle", "regret") == [0.0]
    assert alone.values("greedy", "regret")[0] > 0


def test_a_policy_is_compared_with_the_bound_of_turnaround_that_covers_its_schedule() -> None:
    result = compare(Comparison(Source.of("mixed", 80, load=0.9), ("least_increase", "oracle"), seeds=(0, 1)))
    for outcome in result.outcomes:
        assert all(each.verified for each in outcome.turnaround_bounds.values())
        whole, some = (outcome.turnaround_bounds[each].mean for each in (WHOLE, ANY))
        assert whole > some
        for spec, bound in (("least_increase", whole), ("oracle", some)):
            figures = outcome.measures[spec]
            assert (figures["split"] > 0) is (spec == "oracle")
            assert figures["turnaround_over_bound"] == figures["mean_turnaround"] / bound >= 1.0


def test_the_bound_for_any_schedule_is_found_only_if_a_task_is_split() -> None:
    result = compare(Comparison(Source.of("mixed", 40), ("eft",), seeds=(0,)))
    assert set(result.outcomes[0].turnaround_bounds) == {WHOLE}
    assert result.describe_bound().splitlines()[1].endswith("no mean is below it if no task is split")


def test_turnaround_as_the_score_decides_ranking_verdict_and_table() -> None:
    asked = Comparison(Source.of("mixed", 80, load=0.9), ("eft", "least_increase", "oracle"), seeds=(0, 1))
    short, long = compare(asked), compare(Comparison.from_dict(asked.to_dict() | {"score": "turnaround"}))
    assert (short.verdict.measure, long.verdict.measure) == ("makespan_over_bound", "turnaround_over_bound")
    assert (short.verdict.winner, long.verdict.winner) == ("oracle", "least_increase")
    assert long.ranking(long.score)[0] == long.table()[2].split()[0] == "least_increase"
    assert long.turnaround_bound(WHOLE) > short.turnaround_bound(WHOLE)  # the score is worth a long search
    assert "for those that split tasks: oracle" in long.remarks()[-1]
    with pytest.raises(InputError, match="isolated tasks never wait"):
        Comparison(asked.source, asked.schedulers, mode="isolated", score="turnaround")
    with pytest.raises(UnknownNameError, match="did you mean 'turnaround'"):
        Comparison(asked.source, asked.schedulers, score="turnarround")


def test_a_table_shows_what_fits_into_the_terminal() -> None:
    result = compare(Comparison(Source.of("mixed", 60), ("least_increase", "greedy"), seeds=(0, 1)))
    titles = {width: re.split(" {2,}", result.table(width)[0]) for width in (50, 80, 90, 120)}
    assert titles[50] == ["scheduler", "makespan / bound", "turnaround"]
    assert titles[80] == [*titles[50], "/ bound", "p99", "energy"]
    assert titles[90] == [*titles[80], "cost"]
    assert titles[120] == [*titles[50], "turnaround / bound", "p99", "energy", "cost"]
    for width in titles:
        assert max(map(len, result.table(width))) <= width


@pytest.mark.parametrize(("mode", "most"), [("isolated", 5000), ("queued", 79)])
def test_turnaround_is_not_certified_without_queues_nor_for_very_many_tasks(
    mode: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_scheduler.studies.compare.MAX_CERTIFIED_TASKS", most)
    result = compare(Comparison(Source.of("mixed", 80), ("eft",), mode=mode, seeds=(0,)))
    assert not result.has_turnaround_bounds
    assert math.isnan(result.values("eft", "turnaround_over_bound")[0])


def test_the_oracle_is_best_when_devices_are_always_free() -> None:
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
        Comparison(Source.of("mixed", 10), **options)  # type: ignore[arg-type]  # wrong on purpose


def test_an_unknown_scheduler_is_refused_before_any_work() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'greedy'"):
        Comparison(Source.of("mixed", 10), ("eft", "greeedy"))


class Counting(Scheduler):
    """Sends everything to the CPU and counts the tasks it learns from."""

    name = "counting"
    learn_every = 40

    def __init__(self) -> None:
        self.blocks: list[int] = []

    def choose(self, task: TaskView, view: View) -> tuple[float, int]:
        return 0.0, 0

    def learn(self, placements: Placements) -> None:
        self.blocks.append(len(placements))


def test_a_lane_lets_its_scheduler_learn_after_every_block() -> None:
    scheduler = Counting()
    tasks = workload("mixed", 100)
    placements = Lane(scheduler, VirtualMultiGPU()).run(tasks)
    assert scheduler.blocks == [40, 40, 20]
    whole = VirtualMultiGPU().run(tasks, Counting())
    assert np.array_equal(placements.finish, whole.finish)
    assert placements.tasks is tasks


# --- the verdict ---------------------------------------------------------------------------------------------


def test_a_clear_winner_is_named_with_its_lead() -> None:
    verdict = make_result(CLEAR).verdict
    assert (verdict.winners, verdict.is_tie, verdict.runner_up) == (("eft",), False, "greedy")
    assert (verdict.measure, verdict.num_seeds, verdict.seeds_won) == ("makespan_over_bound", 3, 3)
    assert verdict.ratio == pytest.approx(2.0)
    assert verdict.difference.mean == pytest.approx(1.2)
    assert 0 < verdict.difference.low < 1.2 < verdict.difference.high
    assert verdict.lead.mean == pytest.approx(0.5)
    assert str(verdict).startswith("eft leads greedy by 50.0 % (95 % interval ")
    assert str(verdict).endswith("), better on 3 of 3 seeds")


def test_schedulers_whose_paired_interval_contains_zero_tie() -> None:
    verdict = make_result(TIED).verdict
    assert verdict.winners == ("eft", "oracle")
    assert verdict.difference.low <= 0 <= verdict.difference.high
    assert str(verdict) == "tie: eft and oracle cannot be told apart on 3 seeds"


def test_differences_of_rounding_tie_however_consistent_they_are() -> None:
    values = (1.0, 1.1, 1.2)
    verdict = make_result({"eft": values, "oracle": tuple(each * (1 + 1e-13) for each in values)}).verdict
    assert verdict.is_tie


def test_one_seed_has_a_winner_but_no_interval() -> None:
    assert str(make_result({"eft": (1.0,), "greedy": (2.0,)}).verdict) == (
        "eft leads greedy by 50.0 % (one seed: no interval)"
    )
    assert str(make_result({"eft": (1.0,), "greedy": (1.0,)}).verdict) == (
        "tie: eft and greedy cannot be told apart on 1 seed"
    )


def test_a_scheduler_alone_has_no_rival() -> None:
    assert str(make_result({"eft": (1.0, 2.0)}).verdict) == "eft ran alone"


def test_undefined_measures_tie() -> None:
    assert make_result({"eft": (math.nan,) * 2, "greedy": (math.nan,) * 2}).verdict.is_tie


def test_the_speedup_is_the_mean_of_the_ratios() -> None:
    result = make_result({"eft": (1.0, 2.0), "round_robin": (3.0, 2.0)})
    assert result.speedup("eft", "round_robin").mean == pytest.approx(2.0)


def test_a_result_prints_what_was_compared_a_table_and_the_verdict() -> None:
    lines = str(make_result(CLEAR)).splitlines()
    assert lines[0] == "mixed: 10 tasks, load 1, 1 node: 1 cpu, 4 gpu, queued, 3 seeds, simulated"
    assert lines[1].startswith("certified bound 1.00 s: no schedule is faster (prices cpu 0.2")
    assert lines[3].split() == ["scheduler", "makespan", "/", "bound", "turnaround", "p99", "energy", "cost"]
    assert [line.split()[0] for line in lines[5:8]] == ["eft", "greedy", "round_robin"]
    assert " ".join(lines[9:]) == str(make_result(CLEAR).verdict)
    assert max(map(len, lines)) <= 80


def test_long_names_of_one_table_can_be_told_apart() -> None:
    kinds = ["hybrid_ml", *(f"hybrid_ml:model_type={each}" for each in ("xgboost", "svm", "neural_network"))]
    names = shorten_names([*kinds, "oracle:step=0.00001"])
    assert names["hybrid_ml"] == "hybrid_ml"
    assert names["oracle:step=0.00001"] == "oracle:step=0.…"  # nobody begins like it
    assert names["hybrid_ml:model_type=svm"] == "hybrid…type=svm"
    assert len(set(names.values())) == len(names)
    nearly = [f"mine:a={number}{'0' * 20}:b=1234567890" for number in range(1, 4)]
    for width in (80, 120):
        short = shorten_names(nearly, width)
        assert len(set(short.values())) == 3
        assert all(len(each) <= (15 if width == 80 else 30) for each in short.values())
