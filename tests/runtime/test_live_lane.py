"""A lane before real devices: measured seconds move its clocks, and its scheduler knows only what was learnt."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core.placements import LOST, Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.live.real_devices import MOST_EDGE, MeasuredLane, Parts, Turn, Turns, edge_of
from hybrid_scheduler.runtime.devices import cluster_of, devices_of

CLUSTER = cluster_of(devices_of("cpu,gpu=emulated:slowdown=1"))
CPU, GPU = 0, 1


@dataclass
class Scripted:
    """Devices that take as long as a script says; whole tasks, seconds by device."""

    seconds: dict[int, float]
    dead: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)  # take a task and never answer
    asked: list[Parts] = field(default_factory=list)

    @property
    def backend(self) -> Any:
        return SimpleNamespace(is_alive=lambda device: device not in self.dead)

    def run(self, _size: float, _intensity: float, parts: Parts) -> Turn:
        self.asked.append(list(parts))
        if any(device in self.lost for device, _ in parts):
            return Turn(parts, (), 3)
        return Turn(parts, tuple(self.seconds[device] for device, _ in parts))


def lane_of(policy: str, script: Scripted) -> MeasuredLane:
    return MeasuredLane(
        registry.schedulers.create(policy, seed=0), VirtualMultiGPU(cluster=CLUSTER), turns=cast("Turns", script)
    )


def placed(lane: MeasuredLane, arrivals: list[float], cpu: float, gpu: float) -> Placements:
    """Run tasks that are believed to take so long on a CPU and on a GPU."""
    count = len(arrivals)
    tasks = Tasks.build([1000.0] * count, [0.5] * count, [10.0] * count, arrivals)
    return lane.run(tasks, np.tile([cpu, gpu], (count, 1)))


def test_measured_seconds_and_not_the_learnt_ones_move_the_clocks() -> None:
    lane = lane_of("eft", Scripted({CPU: 9.0, GPU: 3.0}))
    two = placed(lane, [0.0, 0.5], cpu=100.0, gpu=1.0)
    assert two.measured
    assert two.gpu.tolist() == [GPU, GPU]
    assert two.execution.tolist() == [3.0, 3.0]
    assert two.gpu_start.tolist() == [0.0, 3.0]
    assert two.finish.tolist() == [3.0, 6.0]
    assert two.times.tolist() == [[100.0, 3.0], [100.0, 3.0]]  # where it did not run it is learnt


def test_a_scheduler_does_not_see_how_long_queued_work_will_really_take() -> None:
    lane = lane_of("eft", Scripted({CPU: 2.0, GPU: 50.0}))
    # The GPU really works until 50, but at 0.5 everybody believes that it will be free at 1.
    four = placed(lane, [0.0, 0.5, 49.0, 200.0], cpu=4.0, gpu=1.0)
    assert four.gpu.tolist() == [GPU, GPU, GPU, GPU]
    assert four.gpu_start.tolist() == [0.0, 50.0, 100.0, 200.0]


def test_a_split_task_runs_both_shares_and_ends_with_the_later_one() -> None:
    script = Scripted({CPU: 8.0, GPU: 2.0})
    one = placed(lane_of("greedy", script), [1.0], cpu=1.0, gpu=1.0)
    assert script.asked == [[(GPU, 0.5), (CPU, 0.5)]]
    assert (one.gpu_seconds[0], one.cpu_seconds[0], one.finish[0]) == (1.0, 4.0, 5.0)


def test_a_task_goes_elsewhere_if_its_device_is_dead_or_dies_with_it() -> None:
    script = Scripted({CPU: 2.0, GPU: 1.0}, dead={GPU})
    assert placed(lane_of("eft", script), [0.0], cpu=5.0, gpu=1.0).cpu.tolist() == [CPU]
    assert script.asked == [[(CPU, 1.0)]]
    script = Scripted({CPU: 2.0, GPU: 1.0}, lost={GPU})
    lane = lane_of("eft", script)
    assert placed(lane, [0.0], cpu=5.0, gpu=1.0).finish.tolist() == [2.0]
    assert (script.asked, lane.deaths) == ([[(GPU, 1.0)], [(CPU, 1.0)]], 3)


def test_a_task_that_no_device_ends_is_lost_and_says_so() -> None:
    lane = lane_of("eft", Scripted({}, lost={CPU, GPU}))
    one = placed(lane, [0.0], cpu=5.0, gpu=1.0)
    assert one.status.tolist() == [LOST]
    assert "worker died" in one.reason(0)
    assert lane.machine.view.free.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("policy", ["round_robin", "min_min", "oracle", "price"])
def test_policies_of_every_make_can_race_for_real(policy: str) -> None:
    few = placed(lane_of(policy, Scripted({CPU: 2.0, GPU: 1.0})), [0.0, 0.1, 5.0], cpu=2.0, gpu=1.0)
    assert few.ran.all()
    assert (few.finish > few.start).all()


def test_no_size_makes_a_kernel_that_fills_the_memory() -> None:
    assert [edge_of(size) for size in (1.0, 1000.0, 1e12)] == [4, 100, MOST_EDGE]
