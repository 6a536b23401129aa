"""The race of a server: a resumed run continues exactly, a measured one is marked as measured."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.live.race import LiveRace
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.live.simulation import ContinuousSimulation, Replay
from hybrid_scheduler.live.snapshot import Snapshot
from hybrid_scheduler.schedulers.hybrid_ml import HybridML
from hybrid_scheduler.server import race
from hybrid_scheduler.server.problems import ConflictError
from hybrid_scheduler.server.race import RaceManager
from live_server import DEADLINE, build_settings, live, until

pytestmark = pytest.mark.asyncio
ORDERED = {"schedulers": ("eft", "least_increase")}  # one that lets tasks overtake each other
REAL = {"backend": "local", "devices": "cpu,gpu=emulated:slowdown=1", "schedulers": "round_robin,eft"}


async def first_half(manager: RaceManager) -> None:
    await manager.change({"pace": 100.0})
    await manager.step(37)
    await manager.change({"failed_gpus": [0, 1], "load": 3.0})
    await manager.step(5)
    await manager.submit(Task(0, 2000.0, 0.9, 50.0))


async def second_half(manager: RaceManager) -> None:
    await manager.change({"failed_gpus": []})
    await manager.step(40)
    await manager.change({"failed_gpus": [3]})
    await manager.step(10)


async def results(manager: RaceManager, run_id: int) -> list[tuple[Any, ...]]:
    return [tuple(row) async for block in manager.store.export(run_id) for row in block]


async def test_a_resumed_run_stores_what_an_unbroken_one_stores(
    url: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "CHECKPOINT_BUSY", float("inf"))  # all is replayed, and can be found then
    unbroken = RaceManager(build_settings(f"sqlite:///{tmp_path}/other.db", **ORDERED))
    await unbroken.open()
    run_id = await unbroken.start(paused=True)
    await first_half(unbroken)
    await second_half(unbroken)
    await unbroken.stop()
    expected = await results(unbroken, run_id)
    assert {row[1] for row in expected} == {"eft", "least_increase"}
    changes = await unbroken.store.settings_changes(run_id)
    await unbroken.close()

    broken = RaceManager(build_settings(url, **ORDERED))
    await broken.open()
    run_id = await broken.start(paused=True)
    await first_half(broken)
    await broken.flush()
    await broken.ownership.release()  # what is left of a server that died
    await broken.ownership.stop_renewing()
    await broken.recorder.close()
    await broken.store.close()

    after = RaceManager(build_settings(url, **ORDERED))
    await after.open()
    assert (await after.store.run(run_id)).status == "interrupted"
    await after.resume_run(run_id, paused=True)
    assert [await after.find_task(task) is not None for task in (0, 42, 43)] == [True, True, False]
    await second_half(after)
    await after.stop()
    assert await results(after, run_id) == expected
    log = await after.store.settings_changes(run_id)
    keys = ("at_task", "at_time", "change")
    assert [[each[key] for key in keys] for each in log] == [[each[key] for key in keys] for each in changes]
    assert (await after.store.run(run_id)).status == "finished"
    await after.close()


async def test_a_run_is_resumed_over_rest_and_only_if_it_can_be(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    async with live(url, autostart=True) as served:
        await served.until_tasks(10)
        running = await served.post("/api/simulation/resume", {"run_id": served.manager.run_id}, 409)
        assert "under way" in running["error"]["message"]
        ended = await served.post("/api/simulation/stop")
        again = await served.post("/api/simulation/resume", {"run_id": ended["run_id"]})
        assert again["run_id"] == ended["run_id"]
        assert again["tasks_processed"] >= ended["tasks_processed"]
        await served.until_tasks(ended["tasks_processed"] + 10)
        last = await served.post("/api/simulation/stop")
        assert await served.manager.store.last_task(last["run_id"]) == last["tasks_processed"] - 1


async def test_a_run_with_a_learner_goes_on_as_if_it_had_not_been_interrupted(tmp_path: Any) -> None:
    stored = []
    for broken in (False, True):
        settings = build_settings(
            f"sqlite:///{tmp_path}/{broken}.db", schedulers=("hybrid_ml", "eft"), data_dir=tmp_path
        )
        manager = RaceManager(settings)
        await manager.open()
        run_id = await manager.start({"pace": 200.0, "load": 1.2}, paused=True)
        await manager.step(150)
        if broken:
            await manager.stop()
            await manager.resume_run(run_id, paused=True)
        await manager.step(150)
        await manager.stop()
        stored.append(await results(manager, run_id))
        await manager.close()
    assert stored[0] == stored[1]


async def test_a_measured_race_is_served_and_stored_as_measured(tmp_path: Path) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", **REAL) as server:
        client, manager = server.client, server.manager
        assert (await client.get("/api/status")).json()["measured"] is True  # before it is started, too
        started = await client.post("/api/simulation/start", params={"paused": True})
        assert started.status_code == 200, started.text
        await client.post("/api/simulation/step", json={"tasks": 5})

        refused = await client.patch("/api/simulation/settings", json={"num_gpus": 2})
        assert refused.status_code == 400
        assert "num_gpus stays 1" in refused.json()["error"]["message"]
        made = (
            await client.post("/api/tasks", json={"size": 900, "compute_intensity": 0.9, "memory_required": 5})
        ).json()
        assert made["decisions"]["eft"]["result"]["measured"] is True
        names = {each["device_name"] for each in made["decisions"]["eft"]["explanation"]["candidates"]}
        assert names == {"cpu", "gpu0 (emulated)"}

        async with server.watch() as watcher:
            await manager.send_frame()
            frame = await watcher.next("simulation_update")
        assert frame["measured"] is True
        assert all(each["measured"] for each in frame["records"])
        assert [each["name"] for each in frame["devices"]] == ["cpu", "gpu0 (emulated)"]
        assert (frame["settings"]["backend"], frame["settings"]["num_gpus"]) == ("local", 1)

        await client.post("/api/simulation/stop")
        rows = (await client.get("/api/tasks/3")).json()["results"]
        assert [each["measured"] for each in rows] == [True, True]
        line = (await client.get("/api/runs")).json()["runs"][0]
        assert (line["measured"], line["tasks"], line["num_gpus"]) == (True, 6, 1)
        again = await client.post(f"/api/runs/{line['id']}/resume")
        assert again.status_code == 409
        assert "what really ran cannot be played again" in again.json()["error"]["message"]


async def test_a_server_that_is_to_resume_says_that_a_measured_run_cannot_be(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    before = RaceManager(build_settings(url))
    await before.open()
    stored = {"backend": "local", "devices": "emulated", "schedulers": ["eft"]}
    run_id = await before.store.begin_run("live", 0, {}, stored, "a server that died/1/x")
    await before.close()
    async with live(url, autostart=True, resume=True) as server:
        manager = server.manager
        await until(lambda: manager.run_id is not None)
        assert manager.run_id != run_id
        with pytest.raises(ConflictError, match="under way"):
            await manager.resume_run(run_id)
        assert (await manager.store.run(run_id)).status == "interrupted"


async def test_a_command_that_fails_the_race_is_refused_and_the_run_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = LiveRace.change

    def fail(self: LiveRace, settings: LiveSettings) -> Any:
        if settings.energy_weight == 0.77:
            self.lanes.clear()  # half-way: the race is of no use any more
            raise ZeroDivisionError("no such weight")
        return change(self, settings)

    monkeypatch.setattr(LiveRace, "change", fail)
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True, data_dir=tmp_path) as served:
        await served.until_tasks(30)
        run_id = served.manager.run_id
        answer = await served.client.patch("/api/simulation/settings", json={"energy_weight": 0.77})
        assert answer.status_code == 409, answer.text
        assert "ZeroDivisionError" in answer.json()["error"]["message"]
        await until(lambda: served.manager.active and not served.manager.resuming)
        before = (await served.get("/api/status"))["tasks_processed"]
        await served.until_tasks(before + 20)
        assert served.manager.run_id == run_id
        settings = (await served.get("/api/simulation/settings"))["settings"]
        assert settings["energy_weight"] == 0.0
        await served.post("/api/simulation/stop")
        tasks = [each["task_id"] for each in await served.manager.store.tasks_page(run_id or 0, limit=100_000)]
        assert tasks == list(range(len(tasks)))


async def test_a_change_that_fails_a_later_block_is_undone_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = LiveRace.place

    def fail(self: LiveRace, *arguments: Any) -> Any:
        if self.settings.energy_weight == 0.77 and self.stream.number > 60:
            raise ZeroDivisionError("no such weight")
        return place(self, *arguments)

    monkeypatch.setattr(LiveRace, "place", fail)
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True, data_dir=tmp_path) as served:
        await served.until_tasks(5)
        answer = await served.client.patch("/api/simulation/settings", json={"energy_weight": 0.77})
        assert answer.status_code in (200, 409)
        await served.until_tasks(100)
        assert (await served.get("/api/simulation/settings"))["settings"]["energy_weight"] == 0.0
        assert (await served.get("/api/status"))["state"] == "running"


async def test_a_resumed_run_goes_on_from_its_last_checkpoint_and_says_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "CHECKPOINT_BUSY", 0.0)
    url = f"sqlite:///{tmp_path}/hms.db"
    async with live(url, autostart=True, data_dir=tmp_path) as served:
        await served.until_tasks(100)
        run_id = (await served.post("/api/simulation/stop"))["run_id"]
        newest = (await served.manager.store.checkpoints(run_id))[0].at_task
        assert newest >= 100
        replayed, run, release = list[int](), Replay.run, threading.Event()

        def note(self: Replay, until: int) -> Any:
            replayed.append(until - self.simulation.race.stream.number)
            release.wait(DEADLINE)
            return run(self, until)

        monkeypatch.setattr(Replay, "run", note)
        resuming = asyncio.create_task(served.post("/api/simulation/resume", {"run_id": run_id}))
        await until(lambda: "tasks are replayed" in served.manager.resuming)
        assert "is being resumed" in (await served.get("/api/status"))["notice"]
        for path in ("/api/simulation/start", "/api/pause", "/api/simulation/stop"):
            assert "is being resumed" in (await served.post(path, status=409))["error"]["message"]
        release.set()
        await resuming
        assert len(replayed) == 1
        assert replayed[0] < newest  # what came between the checkpoint and the end, not all of it


async def test_requests_are_answered_while_the_first_figures_of_a_race_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, begun, release = ContinuousSimulation.snapshot, threading.Event(), threading.Event()

    def compute_slowly(self: ContinuousSimulation, certify: bool = True) -> Snapshot:
        begun.set()
        release.wait(DEADLINE)
        return snapshot(self, certify)

    async with live(f"sqlite:///{tmp_path}/hms.db", data_dir=tmp_path) as served:
        monkeypatch.setattr(ContinuousSimulation, "snapshot", compute_slowly)  # as where loops are compiled first
        starting = asyncio.create_task(served.post("/api/simulation/start"))
        await until(begun.is_set)
        assert (await served.get("/api/health"))["state"] == "ok"
        release.set()
        assert (await starting)["state"] == "running"


async def test_what_a_kill_leaves_to_be_replayed_does_not_grow_with_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "CHECKPOINT_BUSY", 1e-9)
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True, data_dir=tmp_path, pace=1000.0) as served:
        store, release, stored = served.manager.store, asyncio.Event(), list[int]()
        add = store.add_checkpoint

        async def add_slowly(run_id: int, at_task: int, changes: int, state: bytes) -> None:
            await release.wait()
            await add(run_id, at_task, changes, state)
            stored.append(at_task)

        monkeypatch.setattr(store, "add_checkpoint", add_slowly)
        await served.until_tasks(1000)
        await served.post("/api/pause")
        placed = served.manager.simulation.race.stream.number if served.manager.simulation else 0
        release.set()
        await until(lambda: placed in stored)  # the work done while one is stored counts for the next one
        run_id = served.manager.run_id or 0
        assert (await store.checkpoints(run_id))[0].at_task == placed
        assert len(await store.checkpoints(run_id)) <= 2


async def test_a_learner_without_a_model_for_the_cluster_joins_the_running_race(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HybridML, "pretraining_tasks", 60)
    monkeypatch.setattr("hybrid_scheduler.studies.pretraining.cache_directory", lambda: tmp_path)
    wanted = ("hybrid_ml", "eft")
    async with live(f"sqlite:///{tmp_path}/hms.db", schedulers=wanted, num_gpus=3) as served:
        await served.post("/api/simulation/start")
        simulation, run_id = served.manager.simulation, served.manager.run_id
        assert simulation is not None
        assert run_id is not None
        await until(lambda: simulation.settings.schedulers == wanted)
        assert (await served.manager.store.run(run_id)).settings["schedulers"] == ["eft"]


async def test_a_race_that_nobody_watches_makes_no_frames_until_somebody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(race, "UNWATCHED_FRAME_SECONDS", 1e6)
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True) as served:
        manager = served.manager
        monkeypatch.setattr(race, "WATCHED_SECONDS", 0.0)
        assert manager.simulation is not None
        await until(lambda: manager.hub.wanted._waiters)  # nobody asks for a frame
        await until(lambda: not manager.simulation.watched)  # type: ignore[union-attr]  # it is not None
        number, send, sent = manager.simulation.race.stream.number, manager.send_frame, list[str]()

        async def note_frame() -> None:
            sent.append("a frame")
            await send()

        monkeypatch.setattr(manager, "send_frame", note_frame)
        await until(lambda: manager.simulation.race.stream.number > number + 100)  # type: ignore[union-attr]  # as above
        assert not sent  # notices may come at any time
        manager._looked = time.monotonic() - 60.0  # a frame was made once
        monkeypatch.setattr(race, "WATCHED_SECONDS", 30.0)
        manager._watched = time.monotonic()
        status = await served.get("/api/status")
        assert status["tasks_processed"] > number + 100
        async with served.watch() as client:
            while not (await client.next("simulation_update"))["analysis"]:
                pass
        assert manager.simulation.watched


async def test_a_run_whose_learners_are_not_waited_for_is_not_resumed(tmp_path: Path) -> None:
    manager = RaceManager(build_settings(f"sqlite:///{tmp_path}/hms.db", repeatable=False))
    await manager.open()
    run_id = await manager.start()
    await manager.stop()
    assert not await manager.store.checkpoints(run_id)
    with pytest.raises(ConflictError, match=f"run {run_id} was not repeatable"):
        await manager.resume_run(run_id)
    await manager.close()


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_snapshot_that_comes_late_hides_no_change_and_no_new_run(tmp_path: Path, restarts: bool) -> None:
    manager = RaceManager(build_settings(f"sqlite:///{tmp_path}/hms.db", schedulers=("eft",)))
    await manager.open()
    try:
        await manager.start(paused=True)
        simulation, taken, release = manager.simulation, threading.Event(), threading.Event()
        assert simulation is not None
        take = simulation.snapshot

        def take_slowly(certify: bool = True) -> Any:
            found = take(certify)
            taken.set()
            release.wait(DEADLINE)
            return found

        simulation.snapshot = take_slowly  # type: ignore[method-assign]  # as on a busy machine
        late = asyncio.create_task(manager._refresh_snapshot())
        await until(taken.is_set)
        simulation.snapshot = take  # type: ignore[method-assign]  # as it was
        if restarts:
            await manager.stop()
            await manager.start({"load": 0.123}, paused=True)
        else:
            await manager.change({"load": 0.123})
        release.set()
        await late
        found = manager.snapshot()
        assert found is not None
        assert found.settings["load"] == 0.123
    finally:
        await manager.close()
