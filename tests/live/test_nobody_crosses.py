"""Whatever is done to a live race, no scheduler ends before the certified bound of the tasks it was given."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.settings import LiveSettings

RACERS = ("eft", "oracle", "round_robin", "price")
CHANGES = st.one_of(
    st.builds(lambda load: {"load": load}, st.sampled_from([0.3, 0.9, 1.5, 3.0])),
    st.builds(lambda number: {"num_gpus": number}, st.integers(0, 4)),
    st.builds(lambda gpus: {"failed_gpus": tuple(gpus)}, st.sets(st.integers(0, 3))),
    st.builds(lambda names: {"schedulers": tuple(names)}, st.sets(st.sampled_from(RACERS), min_size=1)),
    st.builds(lambda most: {"max_queue": most}, st.sampled_from([None, 1, 5, 20])),
    st.builds(lambda preset: {"preset": preset}, st.sampled_from(["mixed", "cpu_friendly", "gpu_friendly"])),
    st.builds(
        lambda number, gpus: {"num_gpus": number, "failed_gpus": tuple(gpus)},
        st.integers(2, 4),
        st.sets(st.integers(0, 1)),
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CHANGES, st.integers(1, 60)), max_size=8), st.integers(0, 100))
def test_nobody_ends_before_the_bound(changes: list[tuple[dict[str, Any], int]], seed: int) -> None:
    race = LiveRace(LiveSettings(schedulers=("eft", "oracle"), load=1.5, seed=seed))
    race.advance(60)
    _check(race)
    for change, tasks in changes:
        known = race.settings
        if any(gpu >= change.get("num_gpus", known.num_gpus) for gpu in change.get("failed_gpus", ())):
            continue
        race.change(known.changed(**change))
        for _ in range(3):
            race.advance(tasks)
            _check(race)
    race.close()


def _check(race: LiveRace) -> None:
    for each in race.snapshot("running", 0.0, "").schedulers:
        assert each.makespan_over_bound >= 1.0 - 1e-9, (each.name, race.settings)


def test_who_joins_late_owes_nothing_of_what_came_before() -> None:
    race = LiveRace(LiveSettings(schedulers=("round_robin",), load=3.0))
    race.advance(500)
    race.change(race.settings.changed(schedulers=("round_robin", "eft")))
    race.advance(200)
    late = race.lanes["eft"]
    assert late.bound.seconds < race.bound.seconds
    assert 1.0 <= late.totals.makespan / late.bound.seconds < 1.2


def test_who_turns_tasks_away_is_measured_by_those_it_took() -> None:
    race = LiveRace(LiveSettings(schedulers=("eft",), load=3.0, max_queue=5))
    for _ in range(40):
        race.advance(10)
    lane = race.lanes["eft"]
    assert lane.totals.rejected > 0
    assert lane.bound.seconds < race.bound.seconds
    assert 1.0 <= lane.totals.makespan / lane.bound.seconds < 1.5
