"""The adversary finds bad cases, the same ones every time, as files; those of our learners get no worse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers_cli import hms
from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.studies.adversary import LIMITS, find_worst_case, vary
from hybrid_scheduler.studies.pretraining import load_or_train
from hybrid_scheduler.workloads.formats import reader
from instances import workload

FILES = Path(__file__).with_name("worst_cases")
"""Found by `hms adversary LEARNER RIVAL -o FILE`: what was found is in their names."""


def turnaround(spec: str, file: Path) -> float:
    tasks = reader.read(file)
    placements = Lane(load_or_train(spec, Cluster.default(), 0), VirtualMultiGPU()).run(tasks)
    return float(placements.turnaround.mean())


def test_it_finds_worse_cases_than_it_begins_with_and_the_same_ones_again() -> None:
    first = find_worst_case("greedy", "eft", Cluster.default(), tasks=6, steps=1, seed=3)
    later = find_worst_case("greedy", "eft", Cluster.default(), tasks=6, steps=120, seed=3)
    again = find_worst_case("greedy", "eft", Cluster.default(), tasks=6, steps=120, seed=3)
    assert later.ratio > first.ratio * 1.2
    assert later.ratio == again.ratio == later.victim / later.rival
    np.testing.assert_array_equal(later.tasks.size, again.tasks.size)


def test_variations_stay_within_the_limits_and_in_order() -> None:
    tasks, generator = workload("mixed", 8), np.random.default_rng(1)
    for _ in range(200):
        changed = vary(tasks, generator)
        assert changed.in_order
        for name, (low, high) in LIMITS.items():
            assert (getattr(changed, name) >= low).all()
            assert (getattr(changed, name) <= high).all()
        tasks = changed


def test_the_command_writes_a_file_that_compare_reads(tmp_path: Path) -> None:
    file = tmp_path / "worst.csv"
    size = ("--tasks", "5", "--steps", "30", "--measure", "makespan")
    assert "makespan of greedy is" in hms("adversary", "greedy", "eft", "--out", str(file), *size).out
    assert "eft" in hms("compare", str(file), "-s", "greedy,eft", "--seeds", "1").out


def test_bad_questions_are_named() -> None:
    with pytest.raises(InputError, match="cannot be worse than itself"):
        find_worst_case("eft", "eft", Cluster.default())
    with pytest.raises(InputError, match="tasks is 1"):
        find_worst_case("eft", "greedy", Cluster.default(), tasks=1)
    with pytest.raises(UnknownNameError, match="makespan"):
        find_worst_case("eft", "greedy", Cluster.default(), measure="speed")


@pytest.mark.parametrize("file", sorted(FILES.glob("*.csv")), ids=lambda file: file.stem)
def test_no_learner_gets_worse_where_it_is_at_its_worst(file: Path) -> None:
    learner, rival, most = file.stem.split("-")
    ratio = turnaround(learner, file) / turnaround(rival, file)
    assert 1.0 < ratio <= float(most) * 1.01
