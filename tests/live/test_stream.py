"""The live race on an uploaded trace: in order, over and over, at any rate, and replayed bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.live.race import LiveRace, Stream
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.live.simulation import ContinuousSimulation, RaceEvent, Replay
from hybrid_scheduler.workloads import WorkloadGenerator
from hybrid_scheduler.workloads.formats import csv
from hybrid_scheduler.workloads.library import Library

FOUR = "size,compute_intensity,memory_required,arrival_time,time_cpu,time_gpu\n" + "".join(
    f"{size},0.5,10,{arrival},{size / 100},{size / 200}\n"
    for size, arrival in ((300, 4), (100, 1), (200, 2), (400, 10))
)


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "workloads")
    with library.add("four") as place:
        place.write_text(FOUR)
    with library.add("long") as place:
        csv.write(WorkloadGenerator(1).generate_preset("bursty", 700), place)
    return library


def settings(**values: object) -> LiveSettings:
    return LiveSettings(**{"schedulers": ("eft", "greedy"), "preset": "upload:four", "pace": None, **values})  # type: ignore[arg-type]  # the tests' own values


def test_tasks_come_in_order_of_arrival_over_and_over(library: Library) -> None:
    stream = Stream(settings(load=None, rate=1.0), library)
    parts = [stream.take(3) for _ in range(4)]
    assert [part.size.tolist() for part in parts] == [[100, 200, 300], [400], [100, 200, 300], [400]]
    assert np.concatenate([part.task_id for part in parts]).tolist() == list(range(8))
    gaps = np.diff(np.concatenate([part.arrival_time for part in parts]), prepend=0.0)
    assert gaps == pytest.approx(np.array([3, 1, 2, 6, 3, 1, 2, 6]) / 3)  # the file's, the mean one at its end
    assert parts[0].measured["gpu"].tolist() == [0.5, 1.0, 1.5]


@pytest.mark.parametrize("rate", [0.5, 200.0])
def test_a_rate_stretches_the_gaps_and_keeps_their_proportions(library: Library, rate: float) -> None:
    stream = Stream(settings(preset="upload:long", load=None, rate=rate), library)
    file = np.diff(library.tasks("upload:long").arrival_time)
    gaps = np.diff(stream.take(700).arrival_time)
    assert gaps / gaps.mean() == pytest.approx(file / file.mean())
    assert gaps.mean() == pytest.approx(1.0 / rate)


def test_a_load_is_the_load_of_this_file_on_this_cluster(library: Library) -> None:
    one, other = (Stream(settings(preset="upload:long", load=load), library).rate for load in (0.5, 1.0))
    assert other == pytest.approx(2 * one)
    assert Stream(settings(preset="upload:long", load=1.0, num_gpus=1), library).rate < other


def test_a_change_of_the_rate_leaves_no_task_out(library: Library) -> None:
    race = LiveRace(settings(preset="upload:long"), library)
    sizes = race.advance(100).tasks.size.tolist()
    race.change(race.settings.with_changes(load=1.4))
    sizes += race.advance(50).tasks.size.tolist()
    race.submit(Task(0, 5.0, 0.5, 1.0))
    sizes += race.advance(50).tasks.size.tolist()
    assert sizes == library.tasks("upload:long").size[:200].tolist()


def test_the_settings_name_the_file_by_its_digest(library: Library) -> None:
    live = ContinuousSimulation(settings(), library=library)
    pinned = library.entry("four").pinned_spec
    assert live.initial_settings.preset == live.settings.preset == pinned
    live.change(preset="mixed")
    live.change(preset="upload:four")
    assert live.log[-1].change == {"preset": pinned}
    live.stop()


def test_a_race_on_traces_is_replayed_bit_for_bit(library: Library) -> None:
    finishes: list[list[float]] = [[], []]

    def keep(number: int) -> list[object]:
        def sink(block: RaceEvent) -> None:
            if block.placed is not None:
                finishes[number] += block.placed.placements["eft"].finish.tolist()

        return [sink]

    live = ContinuousSimulation(settings(preset="upload:long"), keep(0), library)  # type: ignore[arg-type]  # a list of sinks
    live.step(900)
    live.change(load=1.3)
    live.step(50)
    live.change(preset="upload:four")
    live.step(30)
    live.change(preset="upload:long", failed_gpus=(1,))
    live.step(70)
    live.stop()
    Replay(live.initial_settings, live.log, keep(1), library).run(1050)  # type: ignore[arg-type]  # a list of sinks
    assert len(finishes[0]) == 1050
    assert finishes[0] == finishes[1]


def test_a_file_that_is_gone_or_another_one_is_refused_before_anything_is_done(library: Library) -> None:
    live = ContinuousSimulation(settings(preset="mixed"), library=library)
    pinned = library.entry("four").pinned_spec
    library.remove("four")
    for spec, why in ((pinned, "there is no workload 'four'"), ("upload:none", "there is no workload 'none'")):
        with pytest.raises(SchedulerError, match=why):
            live.change(preset=spec)
    with library.add("four") as place:
        place.write_text(FOUR.replace("300", "301"))
    with pytest.raises(InputError, match="is not the file of this run"):
        live.change(preset=pinned)
    assert live.log == []
    assert live.settings.preset == "mixed"
    live.stop()


def test_a_race_without_a_library_refuses_files() -> None:
    with pytest.raises(InputError, match="there is no folder of them: choose a preset"):
        LiveRace(settings())


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("task_id,size,compute_intensity,memory_required,dependencies\n1,1,0.5,1,\n2,1,0.5,1,1\n", "dependencies"),
        ("size,compute_intensity,memory_required\n1,0.5,1\n2,0.5,1\n", "arrive at once"),
        ("size,compute_intensity,memory_required,arrival_time,time_a100\n1,0.5,1,0,3\n2,0.5,1,1,3\n", "time_a100"),
    ],
)
def test_a_trace_that_makes_no_stream_is_refused(library: Library, content: str, why: str) -> None:
    with library.add("bad") as place:
        place.write_text(content)
    with pytest.raises(InputError, match=f"workload 'upload:bad' cannot race live: .*{why}"):
        LiveRace(settings(preset="upload:bad"), library)


def test_a_file_whose_tasks_fit_nowhere_has_no_load_but_may_have_a_rate(library: Library) -> None:
    with library.add("huge") as place:
        place.write_text("size,compute_intensity,memory_required,time_cpu,time_gpu\n1,0.5,1,inf,inf\n")
    with pytest.raises(InputError, match="no task of this workload fits the cluster"):
        LiveRace(settings(preset="upload:huge"), library)
    race = LiveRace(settings(preset="upload:huge", load=None, rate=2.0), library)
    assert not race.advance(3).placements["eft"].ran.any()
