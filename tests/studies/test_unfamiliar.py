"""Learners on work unlike all they know: each is held against the best rule in each measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core import Cluster
from hybrid_scheduler.core.physics import class_times
from hybrid_scheduler.studies import unfamiliar
from hybrid_scheduler.studies.unfamiliar import SETTINGS, Setting, judge_learners
from hybrid_scheduler.workloads.generator import WorkloadGenerator
from workloads.formats.real_data import DATA, needs_data

DRAWN = [unfamiliar.draw_job_types, unfamiliar.draw_fork_join, unfamiliar.draw_noisy]


def test_a_rule_is_never_better_than_the_best_rule() -> None:
    cluster = Cluster.default()
    tasks = WorkloadGenerator(3).generate_preset("mixed", 200, load=0.9, cluster=cluster)
    for standing in judge_learners(Setting(tasks, cluster), 0, unfamiliar.BLIND_RULES).values():
        assert min(standing[:3]) >= 1.0
    assert judge_learners(Setting(tasks, cluster), 0, ("eft",))["eft"].turnaround_over_eft == 1.0


@pytest.mark.parametrize("build", DRAWN)
def test_a_seed_draws_the_same_setting_again_and_another_seed_another(build: unfamiliar.Builder) -> None:
    first, again, other = (build(Path("nowhere"), seed) for seed in (1, 1, 2))
    assert np.array_equal(first.tasks.arrival_time, again.tasks.arrival_time)
    assert not np.array_equal(first.tasks.arrival_time, other.tasks.arrival_time)


@needs_data
@pytest.mark.parametrize("name", list(SETTINGS))
def test_every_setting_has_machines_on_which_all_its_tasks_run(name: str) -> None:
    setting = SETTINGS[name](DATA, 0)
    times = class_times(setting.tasks, setting.cluster)
    assert np.isfinite(times).any(axis=1).all()


@needs_data
def test_features_of_noise_change_nothing_but_features() -> None:
    true, noisy = unfamiliar.draw_kernels(DATA, 0).tasks, unfamiliar.draw_kernels_with_noise(DATA, 0).tasks
    assert np.array_equal(true.arrival_time, noisy.arrival_time)
    assert list(true.features) == list(noisy.features)
    assert all(not np.array_equal(true.features[name], noisy.features[name]) for name in true.features)
