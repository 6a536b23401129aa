"""A live race on real devices: measured, changeable, and no task is lost or counted twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from hybrid_scheduler import registry
from hybrid_scheduler.core.placements import LOST, Placements
from hybrid_scheduler.core.simulator import VirtualMultiGPU
from hybrid_scheduler.core.tasks import Task, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.live import ContinuousSimulation, LiveSettings, RaceEvent, Replay
from hybrid_scheduler.live.real_devices import (
    MAX_EDGE,
    ExecutionOutcome,
    MeasuredLane,
    Parts,
    RealExecution,
    SerialExecutor,
    array_edge,
)
from hybrid_scheduler.live.settings import MeasuredSettings
from hybrid_scheduler.runtime.devices import build_cluster, parse_devices

DEVICES = "cpu,gpu=emulated:slowdown=1"


SETTINGS = MeasuredSettings(schedulers=("round_robin", "hybrid_ml", "eft"), devices=DEVICES, pace=None)


@pytest.fixture(scope="module")
def race() -> Iterator[ContinuousSimulation]:
    live = ContinuousSimulation(SETTINGS)
    yield live
    live.stop()


def step(live: ContinuousSimulation, count: int) -> list[RaceEvent]:
    blocks: list[RaceEvent] = []
    live.sinks[:] = [blocks.append]
    live.step(count)
    live.sinks.clear()
    return blocks


def pids(live: ContinuousSimulation) -> list[int]:
    assert isinstance(live.race.execution, RealExecution)
    return live.race.execution.executor.backend.pids


def test_every_placement_is_measured_and_every_scheduler_runs_every_task(race: ContinuousSimulation) -> None:
    blocks = [each.placed for each in step(race, 12)]
    assert all(each is not None and len(each.tasks) == 1 and each.is_measured for each in blocks)
    for each in blocks:
        assert each is not None
        assert set(each.placements) == set(SETTINGS.schedulers)
        seconds = [placed.execution[0] for placed in each.placements.values()]
        assert len(set(seconds)) == 3  # measured, and so never the same as formulas would be
        assert all(0 < each < 10 for each in seconds)
    snapshot = race.snapshot()
    assert snapshot.measured
    assert snapshot.latest is not None
    assert snapshot.latest.measured
    assert [each.name for each in snapshot.devices] == ["cpu", "gpu0 (emulated)"]
    assert [each.tasks for each in snapshot.schedulers] == [race.race.stream.number] * 3
    assert np.isfinite(snapshot.bound)


def test_the_rate_of_a_load_follows_from_measured_times(race: ContinuousSimulation) -> None:
    at = {}
    for load in (0.5, 1.0):
        race.change(load=load)
        at[load] = race.snapshot().arrival_rate
    assert at[1.0] == pytest.approx(2 * at[0.5], rel=1e-6)
    formulas = ContinuousSimulation(LiveSettings(schedulers=("eft",), num_gpus=1, load=1.0))
    assert at[1.0] > 1.5 * formulas.snapshot().arrival_rate  # small kernels take less than the model's seconds


def test_explanations_have_learnt_times_and_name_emulated_devices(race: ContinuousSimulation) -> None:
    placed = race.submit(Task(0, 2000.0, 0.9, 50.0))
    assert placed.devices == (("cpu", "cpu"), ("gpu0 (emulated)", "gpu"))
    chosen = placed.explanations["eft"]
    known = [each.seconds for each in chosen.candidates]
    assert all(0 < each < 5 for each in known)
    assert placed.placements["eft"].decision(0) == (chosen.gpu_fraction, chosen.device)


def test_a_worker_that_is_killed_costs_no_task(race: ContinuousSimulation) -> None:
    before = [each.tasks for each in race.snapshot().schedulers]
    os.kill(pids(race)[1], signal.SIGKILL)
    blocks = step(race, 8)
    assert [each.tasks for each in race.snapshot().schedulers] == [count + 8 for count in before]
    assert all(placed.ran.all() for each in blocks if each.placed for placed in each.placed.placements.values())
    assert [each.placed.tasks.task_id.tolist() for each in blocks if each.placed] == [
        [number] for number in range(race.race.stream.number - 8, race.race.stream.number)
    ]


def test_a_gpu_that_is_switched_off_is_not_used(race: ContinuousSimulation) -> None:
    race.change(failed_gpus=[0])
    for block in step(race, 3):
        assert block.placed is not None
        assert all((each.gpu == -1).all() for each in block.placed.placements.values())
    race.change(failed_gpus=[])


def test_changes_that_real_devices_cannot_follow_are_refused(race: ContinuousSimulation) -> None:
    with pytest.raises(InputError, match=r"num_gpus stays 1: tasks really run here; .*--devices"):
        race.change(num_gpus=3)
    with pytest.raises(InputError, match="backend stays as it is"):
        race.change(backend="simulated")
    with pytest.raises(InputError, match="GPU 1 cannot fail"):
        race.change(failed_gpus=[1])
    with pytest.raises(InputError, match="what really ran cannot be played again"):
        Replay(race.initial_settings, race.log)


CLUSTER = build_cluster(parse_devices("cpu,gpu=emulated:slowdown=1"))


CPU, GPU = 0, 1


@dataclass
class ScriptedExecutor:
    """An executor whose devices take given seconds for a whole task."""

    seconds: dict[int, float]
    dead: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)  # devices whose worker dies at every task
    runs: list[Parts] = field(default_factory=list)

    @property
    def backend(self) -> Any:
        return SimpleNamespace(is_alive=lambda device: device not in self.dead)

    def run(self, _size: float, _intensity: float, parts: Parts) -> ExecutionOutcome:
        self.runs.append(list(parts))
        if any(device in self.lost for device, _ in parts):
            return ExecutionOutcome(parts, (), 3)
        return ExecutionOutcome(parts, tuple(self.seconds[device] for device, _ in parts))


def create_lane(policy: str, script: ScriptedExecutor) -> MeasuredLane:
    return MeasuredLane(
        registry.schedulers.create(policy, seed=0),
        VirtualMultiGPU(cluster=CLUSTER),
        executor=cast("SerialExecutor", script),
    )


def place(lane: MeasuredLane, arrivals: list[float], cpu: float, gpu: float) -> Placements:
    """Run tasks whose learnt times are `cpu` and `gpu` seconds."""
    count = len(arrivals)
    tasks = Tasks.build([1000.0] * count, [0.5] * count, [10.0] * count, arrivals)
    return lane.run(tasks, np.tile([cpu, gpu], (count, 1)))


def test_measured_seconds_and_not_the_learnt_ones_move_the_clocks() -> None:
    lane = create_lane("eft", ScriptedExecutor({CPU: 9.0, GPU: 3.0}))
    two = place(lane, [0.0, 0.5], cpu=100.0, gpu=1.0)
    assert two.measured
    assert two.gpu.tolist() == [GPU, GPU]
    assert two.execution.tolist() == [3.0, 3.0]
    assert two.gpu_start.tolist() == [0.0, 3.0]
    assert two.finish.tolist() == [3.0, 6.0]
    assert two.times.tolist() == [[100.0, 3.0], [100.0, 3.0]]  # where it did not run it is learnt


def test_a_scheduler_does_not_see_how_long_queued_work_will_really_take() -> None:
    lane = create_lane("eft", ScriptedExecutor({CPU: 2.0, GPU: 50.0}))
    # The GPU really works until 50, but at 0.5 it is expected to be free at 1.
    four = place(lane, [0.0, 0.5, 49.0, 200.0], cpu=4.0, gpu=1.0)
    assert four.gpu.tolist() == [GPU, GPU, GPU, GPU]
    assert four.gpu_start.tolist() == [0.0, 50.0, 100.0, 200.0]


def test_a_split_task_runs_both_shares_and_ends_with_the_later_one() -> None:
    script = ScriptedExecutor({CPU: 8.0, GPU: 2.0})
    one = place(create_lane("greedy", script), [1.0], cpu=1.0, gpu=1.0)
    assert script.runs == [[(GPU, 0.5), (CPU, 0.5)]]
    assert (one.gpu_seconds[0], one.cpu_seconds[0], one.finish[0]) == (1.0, 4.0, 5.0)


def test_a_task_goes_elsewhere_if_its_device_is_dead_or_dies_with_it() -> None:
    script = ScriptedExecutor({CPU: 2.0, GPU: 1.0}, dead={GPU})
    assert place(create_lane("eft", script), [0.0], cpu=5.0, gpu=1.0).cpu.tolist() == [CPU]
    assert script.runs == [[(CPU, 1.0)]]
    script = ScriptedExecutor({CPU: 2.0, GPU: 1.0}, lost={GPU})
    lane = create_lane("eft", script)
    assert place(lane, [0.0], cpu=5.0, gpu=1.0).finish.tolist() == [2.0]
    assert (script.runs, lane.deaths) == ([[(GPU, 1.0)], [(CPU, 1.0)]], 3)


def test_a_task_that_no_device_completes_is_lost_with_a_reason() -> None:
    lane = create_lane("eft", ScriptedExecutor({}, lost={CPU, GPU}))
    one = place(lane, [0.0], cpu=5.0, gpu=1.0)
    assert one.status.tolist() == [LOST]
    assert "worker died" in one.reason(0)
    assert lane.machine.view.free.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("policy", ["round_robin", "min_min", "oracle", "price"])
def test_policies_of_every_kind_run_on_real_devices(policy: str) -> None:
    few = place(create_lane(policy, ScriptedExecutor({CPU: 2.0, GPU: 1.0})), [0.0, 0.1, 5.0], cpu=2.0, gpu=1.0)
    assert few.ran.all()
    assert (few.finish > few.start).all()


def test_no_size_makes_a_kernel_that_fills_the_memory() -> None:
    assert [array_edge(size) for size in (1.0, 1000.0, 1e12)] == [4, 100, MAX_EDGE]
