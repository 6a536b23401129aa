"""Short programs never load the compiler; longer ones get compiled loops, and the same decisions."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

from hybrid_scheduler import Cluster, Tasks, VirtualMultiGPU
from hybrid_scheduler.runtime import loops
from hybrid_scheduler.runtime.loops import LoopLoader
from hybrid_scheduler.schedulers.eft import EarliestFinish

DEADLINE = 300.0
PROGRAM = """
import sys
from hybrid_scheduler import HybridScheduler
with HybridScheduler() as scheduler:
    print(sum(scheduler.map(abs, range(-300, 0))), "numba" in sys.modules)
"""


def test_a_short_program_ends_without_numba() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=DEADLINE
    )
    assert run.stdout == "45150 False\n", run.stderr


def test_a_loop_is_loaded_beside_the_work_and_decides_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, cluster = np.random.default_rng(0), Cluster.default()
    block = Tasks.build(np.ones(40), np.full(40, 0.5), np.zeros(40))
    times = rng.uniform(0.1, 1.0, (40, len(cluster.classes)))
    loader, policy, machine = LoopLoader(), EarliestFinish(), VirtualMultiGPU(cluster=cluster)
    monkeypatch.setattr(loops, "LOAD_AFTER", -1.0)
    interpreted = loader.step(machine, policy, block, times)
    for thread in threading.enumerate():
        if thread.name == "loop-loader":
            thread.join(DEADLINE)
    machine.reset()
    assert loader._is_loaded
    compiled = loader.step(machine, policy, block, times)
    assert np.array_equal(interpreted.finish, compiled.finish)
    assert np.array_equal(interpreted.gpu, compiled.gpu)
