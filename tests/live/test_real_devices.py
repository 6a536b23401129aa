"""A live race on real processes: measured, changeable, and none of its tasks is lost or counted twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, UnknownNameError
from hybrid_scheduler.live import Block, ContinuousSimulation, LiveSettings, Replay
from hybrid_scheduler.live.real_devices import FOUR, MeasuredGround, MeasuredSettings, live_simulation

TWO = "cpu,gpu=emulated:slowdown=1"
SETTINGS = MeasuredSettings(schedulers=("round_robin", "hybrid_ml", "eft"), devices=TWO, pace=None)


@pytest.fixture(scope="module")
def race() -> Iterator[ContinuousSimulation]:
    live = live_simulation(SETTINGS)
    yield live
    live.stop()


def passed(live: ContinuousSimulation, count: int) -> list[Block]:
    blocks: list[Block] = []
    live.sinks[:] = [blocks.append]
    live.step(count)
    live.sinks.clear()
    return blocks


def pids(live: ContinuousSimulation) -> list[int]:
    assert isinstance(live.race.ground, MeasuredGround)
    return live.race.ground.turns.backend.pids


def test_every_placement_is_measured_and_every_scheduler_runs_every_task(race: ContinuousSimulation) -> None:
    blocks = [each.placed for each in passed(race, 12)]
    assert all(each is not None and len(each.tasks) == 1 and each.measured for each in blocks)
    for each in blocks:
        assert each is not None
        assert set(each.placements) == set(SETTINGS.schedulers)
        seconds = [placed.execution[0] for placed in each.placements.values()]
        assert len(set(seconds)) == 3  # nobody measures the same twice, as formulas would
        assert all(0 < each < 10 for each in seconds)
    look = race.snapshot()
    assert look.measured
    assert look.latest is not None
    assert look.latest.measured
    assert [each.name for each in look.devices] == ["cpu", "gpu0 (emulated)"]
    assert [each.tasks for each in look.schedulers] == [race.race.stream.number] * 3
    assert np.isfinite(look.bound)


def test_the_rate_of_a_load_follows_from_measured_times(race: ContinuousSimulation) -> None:
    at = {}
    for load in (0.5, 1.0):
        race.change(load=load)
        at[load] = race.snapshot().arrival_rate
    assert at[1.0] == pytest.approx(2 * at[0.5], rel=1e-6)
    formulas = ContinuousSimulation(LiveSettings(schedulers=("eft",), num_gpus=1, load=1.0))
    assert at[1.0] > 1.5 * formulas.snapshot().arrival_rate  # small kernels take less than the model's seconds


def test_why_is_told_with_learnt_times_and_names_that_say_emulated(race: ContinuousSimulation) -> None:
    placed, reasons = race.submit(Task(0, 2000.0, 0.9, 50.0))
    assert placed.devices == (("cpu", "cpu"), ("gpu0 (emulated)", "gpu"))
    chosen = reasons["eft"]
    known = [each.seconds for each in chosen.candidates]
    assert all(0 < each < 5 for each in known)
    assert placed.placements["eft"].decision(0) == (chosen.gpu_fraction, chosen.device)


def test_a_worker_that_is_killed_costs_no_task(race: ContinuousSimulation) -> None:
    before = [each.tasks for each in race.snapshot().schedulers]
    os.kill(pids(race)[1], signal.SIGKILL)
    blocks = passed(race, 8)
    assert [each.tasks for each in race.snapshot().schedulers] == [count + 8 for count in before]
    assert all(placed.ran.all() for each in blocks if each.placed for placed in each.placed.placements.values())
    assert [each.placed.tasks.task_id.tolist() for each in blocks if each.placed] == [
        [number] for number in range(race.race.stream.number - 8, race.race.stream.number)
    ]


def test_a_gpu_that_is_switched_off_is_not_used(race: ContinuousSimulation) -> None:
    race.change(failed_gpus=[0])
    for block in passed(race, 3):
        assert block.placed is not None
        assert all((each.gpu == -1).all() for each in block.placed.placements.values())
    race.change(failed_gpus=[])


def test_what_has_no_meaning_is_refused_in_one_line(race: ContinuousSimulation) -> None:
    with pytest.raises(InputError, match=r"num_gpus stays 1: tasks really run here; .*--devices"):
        race.change(num_gpus=3)
    with pytest.raises(InputError, match="backend stays as it is"):
        race.change(backend="simulated")
    with pytest.raises(InputError, match="GPU 1 cannot fail"):
        race.change(failed_gpus=[1])
    with pytest.raises(InputError, match="what really ran cannot be played again"):
        Replay(race.first_settings, race.log)


def test_settings_name_known_backends_and_devices() -> None:
    assert MeasuredSettings(devices="emulated").schedulers == FOUR
    assert MeasuredSettings(devices="emulated").num_gpus == 1
    with pytest.raises(UnknownNameError, match="'locl'"):
        MeasuredSettings(backend="locl", devices="emulated")
    with pytest.raises(InputError, match="is not simulated"):
        LiveSettings(backend="local")
    with pytest.raises(InputError, match="needs its devices"):
        ContinuousSimulation(MeasuredSettings(devices="emulated"))
