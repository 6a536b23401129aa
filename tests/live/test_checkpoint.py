"""A race that goes on from a checkpoint makes the same bits as one that was never interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_scheduler.core import Task
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.live import ContinuousSimulation, LiveSettings, RaceEvent, Replay
from hybrid_scheduler.live.checkpoint import KEY_FILE, load_race, read_key, save_race
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.workloads.library import Library

KEY = b"k" * 32
RULES = ("random", "work_stealing", "gcmu", "jsq")
LEARNERS = ("hybrid_ml", "rl_agent:model=none")


def collect(into: list[Any], event: RaceEvent) -> None:
    """Keep every placement of an event."""
    parts = dict(event.placed.placements) if event.placed else {}
    for group in (parts, event.restarted, {name: each.placements for name, each in event.started.items()}):
        for name, placed in group.items():
            columns = {key: np.asarray(value).tolist() for key, value in placed.result_columns().items()}
            into.append(repr((name, placed.tasks.task_id.tolist(), columns)))  # with NaN for what waits


def finish(simulation: ContinuousSimulation) -> list[Any]:
    """Go through every kind of command, and return all that happened."""
    found = list[Any]()
    simulation.sinks[:] = [lambda event: collect(found, event)]
    simulation._step(60)
    simulation._change({"failed_gpus": [1], "energy_weight": 0.3})
    simulation._step(40)
    simulation._submit(Task(0, 900.0, 0.4, 50.0))
    simulation._change({"failed_gpus": [], "num_gpus": 3, "load": 0.7})
    simulation._step(80)
    snapshot = simulation.snapshot()
    simulation.stop()
    figures = [(each.name, each.makespan, each.turnaround_over_bound, each.wins) for each in snapshot.schedulers]
    return [*found, repr(figures), snapshot.bound]


@pytest.fixture(autouse=True)
def _train_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HMS_LEARNER_NICE", "0")


@pytest.mark.parametrize("preset", ["mixed", "upload"])
def test_a_race_goes_on_from_a_checkpoint_with_the_same_bits(preset: str, tmp_path: Path) -> None:
    library = Library(tmp_path)
    kinds: tuple[str, ...] = (*RULES, *LEARNERS)
    if preset == "upload":
        kinds = RULES  # what learners keep does not depend on where tasks come from
        with library.add("trace.csv") as path:
            rows = "".join(f"{500 + 9 * row},0.{row % 10},{row},{row * row / 300}\n" for row in range(150))
            path.write_text("size,compute_intensity,memory_required,arrival_time\n" + rows)
        preset = "upload:trace.csv"
    settings = LiveSettings(kinds, preset=preset, load=1.1, num_gpus=2, seed=5, pace=100.0)
    unbroken = ContinuousSimulation(settings, library=library)
    unbroken._step(180)
    unbroken._change({"failed_gpus": [0]})
    unbroken._step(30)
    unbroken._change({"failed_gpus": []})
    state = unbroken.checkpoint(KEY)
    assert (state.at_task, state.changes) == (210, 4)
    assert max(len(lane.work._blocks) for lane in unbroken.race.lanes.values()) <= 2  # joined: it is saved in no time
    race, _ = load_race(state.state, KEY, library)
    resumed = Replay(settings, unbroken.log, (), library, race, state.changes).simulation
    assert finish(resumed) == finish(unbroken)


def test_a_race_that_was_watched_now_and_then_is_repeated_with_the_same_bits() -> None:
    settings = LiveSettings(("hybrid_ml", "rl_agent:model=none"), load=1.1, num_gpus=2, seed=5, pace=20.0)
    live, until = ContinuousSimulation(settings), 0
    found, saved = list[Any](), list[Any]()
    live.sinks.append(lambda event: collect(found, event))
    for watched, tasks in ((True, 30), (False, 160), (True, 25), (False, 80)):
        live.watched, until = watched, until + tasks
        while live.race.stream.number < until:
            live._advance(live._choose_block())
            saved = saved or ([live.checkpoint(KEY), len(found)] if live.race.stream.number > 100 else [])
    live.stop()
    until = live.race.stream.number
    assert [each.change for each in live.log] == [{"long_blocks": each} for each in (True, False, True)]

    repeated = list[Any]()
    again = Replay(settings, live.log, [lambda event: collect(repeated, event)]).run(until)
    again.stop()
    assert repeated == found
    assert again.log == live.log

    resumed, (state, done) = list[Any](), saved
    race, _ = load_race(state.state, KEY, None)
    Replay(settings, live.log, [lambda event: collect(resumed, event)], None, race, state.changes).run(until).stop()
    assert resumed == found[done:]


def test_a_checkpoint_that_was_not_signed_by_this_server_is_refused_unread() -> None:
    race = LiveRace(LiveSettings(("greedy",)))
    state = save_race(race, KEY)
    for wrong in (b"", state[:-1], state[:40] + b"x" + state[41:], b"\x80\x05" + state):
        with pytest.raises(InputError, match="not written with this server's key"):
            load_race(wrong, KEY, None)
    with pytest.raises(InputError, match=KEY_FILE):
        load_race(state, b"other" * 8, None)


def test_the_key_of_a_server_is_made_once_and_for_its_user_alone(tmp_path: Path) -> None:
    key = read_key(tmp_path / "data")
    assert read_key(tmp_path / "data") == key
    assert len(key) == 32
    assert (tmp_path / "data" / KEY_FILE).stat().st_mode & 0o077 == 0
    assert [each.name for each in (tmp_path / "data").iterdir()] == [KEY_FILE]


def test_a_race_that_cannot_be_stored_goes_on_without_a_checkpoint() -> None:
    simulation = ContinuousSimulation(LiveSettings(schedulers=("eft",), pace=None))
    simulation.race.lanes["eft"].scheduler.note = lambda: None  # type: ignore[attr-defined]  # as a plug-in may have
    simulation.start()
    with pytest.raises(InputError, match="the race holds what cannot be stored"):
        simulation.checkpoint(KEY)
    simulation.change(load=0.5)  # it is still there to take commands
    assert simulation.state == "running"
    simulation.stop()
