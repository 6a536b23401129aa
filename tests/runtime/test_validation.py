"""The simulation against the clock: what is compared, also for tasks that run in two shares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_scheduler.core.cluster import Cluster
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.runtime.validation import Validation, summarise
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
