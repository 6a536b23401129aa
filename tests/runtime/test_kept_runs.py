"""A kept run under other policies: the same in one process and in several, and what takes longest begins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.lane import Lane
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.runtime.kept_runs import BOUND, POLICIES_FOR_PROCESSES, simulate_kept_run, sort_longest_first
from hybrid_scheduler.runtime.record import KeptRun
from hybrid_scheduler.studies.pretraining import load_or_train
from instances import workload

RUN = KeptRun(workload("mixed", 40, load=1.5), Cluster.default(1), "eft", 1.0, ("cpu", "gpu0"))
SPECS = ("eft", "greedy", "gcmu", "min_min", "spt", "heft", "hybrid_ml", "random", "eft")


def test_several_processes_give_what_one_gives_to_the_same_bits_and_say_what_they_do() -> None:
    assert len(set(SPECS)) >= POLICIES_FOR_PROCESSES
    told: list[tuple[int, int, str]] = []
    certificate, placed = simulate_kept_run(RUN, SPECS, 7, 2, lambda *step: told.append(step))
    alone, expected = simulate_kept_run(RUN, SPECS, 7)
    assert certificate == alone
    assert certificate.verified
    assert list(placed) == list(expected) == list(dict.fromkeys(SPECS))
    for spec, placements in placed.items():
        policy = load_or_train(spec, RUN.cluster, 7)
        machine = VirtualMultiGPU(cluster=RUN.cluster)
        compiled = Lane(policy, machine).run(RUN.tasks) if policy.learn_every else machine.run(RUN.tasks, policy)
        for column in ("finish", "gpu", "gpu_fraction", "cpu"):
            values = [getattr(each, column) for each in (placements, expected[spec], compiled)]
            assert np.array_equal(values[0], values[1], equal_nan=True), (spec, column)
            assert np.array_equal(values[0], values[2], equal_nan=True), (spec, column)
    assert [done for done, _, _ in told] == list(range(len(placed) + 2))
    assert told[0][2].startswith(f"{BOUND}, ")
    assert told[-1] == (len(placed) + 1, len(placed) + 1, "")


def test_a_learner_learns_from_what_has_ended_in_the_kept_run() -> None:
    tasks = workload("mixed", 300, load=1.5)
    _, placed = simulate_kept_run(KeptRun(tasks, RUN.cluster, "eft", 1.0, RUN.labels), ["hybrid_ml"], 7)
    untaught = VirtualMultiGPU(cluster=RUN.cluster).run(tasks, load_or_train("hybrid_ml", RUN.cluster, 7))
    assert not np.array_equal(placed["hybrid_ml"].finish, untaught.finish)


def test_what_takes_longest_begins_and_a_second_search_ends_when_the_first_has_compiled_its_kernels() -> None:
    order = sort_longest_first(["eft", "gcmu", "optimal", "min_min", "search", "attention_agent:window=3", "greedy"])
    assert order[0] == "optimal"
    assert order[1] == "attention_agent:window=3"
    assert order[2:4] == ["gcmu", "min_min"]
    assert order[-1] == "search"
    assert set(sort_longest_first(list(registry.schedulers.table))) == set(registry.schedulers.table)


def test_a_policy_that_fails_in_its_process_says_so_itself(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("def choose(task, view):\n    return 1.0, 99\n", encoding="utf-8")
    with pytest.raises(SchedulerError, match="device 99"):
        simulate_kept_run(RUN, [*SPECS, f"{file}:choose"], 0, 2)
