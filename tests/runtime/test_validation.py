"""The simulation against the clock: what is compared, also for tasks that run in two shares."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core import Placements
from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.view import TaskView, View
from hybrid_scheduler.runtime.devices import build_cluster, class_signatures, parse_devices
from hybrid_scheduler.runtime.executor import create_backend
from hybrid_scheduler.runtime.lane import Pace
from hybrid_scheduler.runtime.measured_times import MeasuredTimes
from hybrid_scheduler.runtime.tasks import choose_kernel, kernel_task
from hybrid_scheduler.runtime.validation import Calibration, Validation, Validator, summarise
from hybrid_scheduler.schedulers.learner import Learner
from hybrid_scheduler.schedulers.scheduler import from_function
from hybrid_scheduler.workloads import WorkloadGenerator


@pytest.mark.parametrize(("share", "shares_each"), [(0.0, 1), (0.4, 2), (1.0, 1)])
def test_every_share_is_compared_where_it_ran(share: float, shares_each: int) -> None:
    tasks = WorkloadGenerator(1).generate_preset("mixed", 12)
    machine = VirtualMultiGPU(cluster=Cluster.default(1))
    simulated = machine.run(tasks, from_function(lambda task, view: (share, 1 if share else 0)))
    slower = replace(simulated, times=simulated.times * np.array([1.25, 2.0]), measured=True)
    compared = Validation("mine", 0, simulated, slower)
    assert len(compared.task_errors) == shares_each * len(tasks)
    wanted = ([] if share == 0.0 else [1 / 2.0 - 1] * 12) + ([] if share == 1.0 else [1 / 1.25 - 1] * 12)
    assert compared.task_errors == pytest.approx(wanted)
    assert np.isfinite(summarise([compared])[0]["median_task_error"])


def test_what_passes_between_two_kernels_counts_in_the_simulation() -> None:
    tasks = WorkloadGenerator(1).generate_preset("mixed", 8)
    backend = create_backend("local", parse_devices("cpu"), None)
    try:
        calibration = Calibration(backend, tasks, Pace(at_once=True, scale=0.02))
        found = Validator(calibration).validate("round_robin", 0, tasks)
    finally:
        backend.close()
    assert found.simulated.makespan >= len(tasks) * found.gap > 0.0
    calibrated, _ = found.task_seconds
    assert calibrated + found.gap == pytest.approx(found.simulated.times[:, 0]), "kernels are compared without it"


def test_seconds_for_which_a_device_waited_for_a_decision_count_in_the_simulation(tmp_path: Path) -> None:
    slow = tmp_path / "slow.py"
    slow.write_text("import time\n\n\ndef choose(task, view):\n    time.sleep(0.02)\n    return 0.0, 0\n")
    tasks = WorkloadGenerator(1).generate_preset("mixed", 8)
    backend = create_backend("local", parse_devices("cpu"), None)
    try:
        calibration = Calibration(backend, tasks, Pace(at_once=True, scale=0.02))
        found = Validator(calibration).validate(f"{slow}:choose", 0, tasks)
    finally:
        backend.close()
    assert found.gap - calibration.gap >= 0.02 / len(tasks), "the first decision found the device idle"
    assert found.simulated.makespan >= len(tasks) * found.gap


def test_the_parts_of_a_split_task_are_simulated_with_their_own_seconds() -> None:
    tasks = WorkloadGenerator(1).generate_preset("mixed", 6)
    backend = create_backend("local", parse_devices("emulated"), None)
    try:
        calibration = Calibration(backend, tasks, Pace(at_once=True, scale=0.5))
        cluster, times = build_cluster(backend.devices), MeasuredTimes()
        signatures = class_signatures(backend.devices, cluster)
        for kernel in {choose_kernel(float(each)) for each in tasks.compute_intensity}:
            for signature in signatures:  # half a second before anything is done, then in proportion to the size
                for size in np.geomspace(1.0, 20_000.0, 60).tolist():
                    times.observe(kernel_task(kernel).name, signature, signature, size, 0.5 + size / 1000.0)
        whole = calibration.predict(times, tasks, cluster, np.ones(len(tasks)))
        shares = np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
        parts = calibration.predict(times, tasks, cluster, shares)
    finally:
        backend.close()
    on_gpu = np.array([each.kind == "gpu" for each in cluster.classes])
    split = slice(1, 5)
    assert (parts[[0, 5]] == whole[[0, 5]]).all(), "tasks that are not split"
    assert (
        parts[split, on_gpu][:, 0] * shares[split] + parts[split, ~on_gpu][:, 0] * (1 - shares[split])
        > 0.5 + whole[split].min(axis=1)
    ).all(), "both parts begin"


def test_calibrations_for_a_learner_are_made_while_one_of_its_kind_decides_and_learns() -> None:
    learnt = list[int]()

    class Watcher(Learner):
        name = "watcher"
        learn_every = 4

        def choose(self, task: TaskView, view: View) -> tuple[float, int]:
            return 0.0, 0

        def learn(self, placements: Placements) -> None:
            learnt.append(len(placements))
            if len(learnt) > 5:
                raise ValueError("enough")

    tasks = WorkloadGenerator(1).generate_preset("mixed", 10)
    backend = create_backend("local", parse_devices("cpu"), None)
    try:
        calibration = Calibration(backend, tasks, Pace(at_once=True, scale=0.02))
        calibration.measure()
        gap = calibration.gap
        with pytest.raises(ValueError, match="enough"):
            calibration.measure_beside(Watcher(), tasks, 0.001)
    finally:
        backend.close()
    assert learnt == [4, 4, 2, 4, 4, 2], "all tasks, block by block, again and again"
    assert calibration.gap == gap, "between two kernels of a run nobody else decides"
