"""Orders over REST: the same on both databases, with and without Redis."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from hybrid_scheduler.live.simulation import ContinuousSimulation, RaceEvent
from live_server import DEADLINE, QUICK, live, until

pytestmark = pytest.mark.asyncio
TASK = {"size": 1000.0, "compute_intensity": 0.5, "memory_required": 100.0}


@pytest.fixture(params=["memory", "redis"])
def cache(request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"redis_url": request.getfixturevalue("redis_url")} if request.param == "redis" else {}


async def test_a_run_from_start_to_end(url: str, cache: dict[str, Any]) -> None:
    async with live(url, **cache) as served:
        status = await served.get("/api/status")
        assert (status["state"], status["run_id"], status["is_running"]) == ("none", None, False)

        begun = await served.post("/api/simulation/start", {"preset": "long_tail", "seed": 7})
        assert (begun["state"], begun["is_running"]) == ("running", True)
        await served.until_tasks(20)
        assert (await served.post("/api/simulation/pause"))["state"] == "paused"
        halted = (await served.post("/api/simulation/step", {"tasks": 5}))["tasks_processed"]
        assert (await served.post("/api/simulation/step"))["tasks_processed"] == halted + 1

        changed = await served.client.patch("/api/simulation/settings", json={"failed_gpus": [0, 2], "rate": 30.0})
        assert changed.json()["change"] == {"failed_gpus": [0, 2], "rate": 30.0}
        current = (await served.get("/api/simulation/settings"))["settings"]
        assert (current["preset"], current["load"], current["rate"]) == ("long_tail", None, 30.0)
        devices = served.manager.snapshot()
        assert devices is not None
        assert [each.failed for each in devices.devices] == [False, True, False, True, False]

        assert (await served.post("/api/tasks", TASK, 201))["task"]["task_id"] == halted + 1
        assert (await served.post("/api/simulation/resume"))["state"] == "running"
        ended = await served.post("/api/simulation/stop")
        assert (ended["state"], ended["run_id"]) == ("stopped", begun["run_id"])

        run = await served.manager.store.run(begun["run_id"])
        assert (run.status, run.seed, run.settings["preset"]) == ("finished", 7, "long_tail")
        assert run.summary is not None
        assert run.summary["snapshot"]["tasks_processed"] == ended["tasks_processed"]
        assert run.summary["analysis"]["schedulers"] == list(QUICK)
        assert await served.manager.store.last_task(run.id) == ended["tasks_processed"] - 1
        log = await served.manager.store.settings_changes(run.id)
        assert [sorted(each["change"]) for each in log] == [["step"], ["step"], ["failed_gpus", "rate"], ["task"]]


async def test_the_status_waits_for_no_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certified = Event()
    monkeypatch.setattr(ContinuousSimulation, "wait_for_certificate", lambda simulation: certified.wait(2 * DEADLINE))
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True) as served:
        try:
            async with asyncio.timeout(DEADLINE):
                while (await served.get("/api/status"))["tasks_processed"] < 20:
                    await asyncio.sleep(0.01)
        finally:
            certified.set()


async def test_restarted_tasks_are_stored_as_further_attempts(url: str) -> None:
    async with live(url) as served:
        run_id = (await served.post("/api/simulation/start", {"load": 5.0}))["run_id"]
        await served.until_tasks(40)
        for failed in ([0], [0, 1], [0, 1, 2]):
            await served.client.patch("/api/simulation/settings", json={"failed_gpus": failed})
        await served.post("/api/simulation/stop")
        rows = [row async for block in served.manager.store.export(run_id) for row in block]
        assert max(row.attempt for row in rows) >= 3
        attempts = {(row.task_id, row.scheduler_name): row.attempt for row in rows if row.attempt > 1}
        for task_id, name in attempts:
            numbers = [row.attempt for row in rows if (row.task_id, row.scheduler_name) == (task_id, name)]
            assert numbers == list(range(1, len(numbers) + 1))
        restarts = {row.scheduler_name: 0 for row in rows}
        for row in rows:
            restarts[row.scheduler_name] += row.attempt > 1
        last = served.manager.snapshot()
        assert last is not None
        assert restarts == {each.name: each.restarts for each in last.schedulers}


async def test_the_short_paths_do_the_same(url: str) -> None:
    async with live(url, autostart=True) as served:
        assert (await served.post("/api/pause"))["state"] == "paused"
        assert (await served.get("/api/simulation/status")) == (await served.get("/api/status"))
        assert (await served.post("/api/resume"))["state"] == "running"


async def test_schedulers_come_and_go_while_it_runs(url: str) -> None:
    async with live(url, autostart=True) as served:
        await served.until_tasks(5)
        answer = await served.client.patch("/api/simulation/settings", json={"schedulers": ["eft", "min_min"]})
        assert answer.json()["settings"]["schedulers"] == ["eft", "min_min"]
        assert (await served.get("/api/status"))["schedulers"] == ["eft", "min_min"]
        before = (await served.get("/api/status"))["tasks_processed"]
        await served.until_tasks(before + 5)
        recalled = await served.manager.find_task(before + 4)
        assert recalled is not None
        assert set(recalled.record.results) == {"eft", "min_min"}


WRONG_ORDERS: list[tuple[str, Any, int, str]] = [
    ("/api/simulation/pause", None, 409, "start one with"),
    ("/api/simulation/step", None, 409, "start one with"),
    ("/api/simulation/stop", None, 409, "start one with"),
    ("/api/simulation/resume", {"run_id": 99}, 400, "run 99 is not in this database"),
    ("/api/simulation/start", {"preset": "mixd"}, 400, "did you mean 'mixed'?"),
    ("/api/simulation/start", {"load": -1}, 422, "body.load"),
    ("/api/simulation/start", {"load": None, "rate": None}, 400, "give one of them"),
    ("/api/simulation/start", {"num_gpus": None}, 400, "leave it out"),
    ("/api/simulation/start", {"schedulers": ["evil.py:Run"]}, 422, "no scheduler of this server"),
    ("/api/simulation/start", {"schedulers": ["rl_agent:model=/etc/passwd"]}, 422, "no scheduler of this server"),
    ("/api/simulation/start", {"lod": 1.0}, 422, "body.lod"),
    ("/api/simulation/start", {"load": "1"}, 422, "body.load"),
    ("/api/simulation/start", [], 422, "body"),
]


async def test_commands_that_cannot_be_executed_say_why(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path}/hms.db"
    async with live(url) as served, live(url) as other:
        for path, body, status, words in WRONG_ORDERS:
            error = (await served.post(path, body, status))["error"]
            assert words in error["message"]
            assert set(error) == {"kind", "message", "hint", "detail"}
        assert served.manager.simulation is None
        await other.post("/api/simulation/start")  # nothing is left claimed


async def test_commands_in_the_wrong_state_say_why(tmp_path: Any) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True) as served:
        assert "stop it before" in (await served.post("/api/simulation/start", {}, 409))["error"]["hint"]
        assert "pause it before" in (await served.post("/api/simulation/step", {}, 409))["error"]["hint"]
        empty = await served.client.patch("/api/simulation/settings", json={})
        assert (empty.status_code, empty.json()["error"]["kind"]) == (400, "invalid")
        run_id = (await served.post("/api/simulation/stop"))["run_id"]
        assert "start a new one" in (await served.post("/api/simulation/pause", None, 409))["error"]["hint"]
        again = await served.post("/api/simulation/start")
        assert again["run_id"] == run_id + 1
        assert again["tasks_processed"] < 5


async def test_a_policy_that_breaks_ends_the_run_as_failed_and_says_so(tmp_path: Any) -> None:
    policy = tmp_path / "broken.py"
    policy.write_text("def choose(task, view):\n    return (0.5, 0) if task.row < 0 else ('what', None)\n")
    async with live(f"sqlite:///{tmp_path}/hms.db", schedulers=("eft", f"{policy}:choose")) as served:
        async with served.watch() as client:
            await served.post("/api/simulation/start")
            while "failed" not in (told := await client.next("notification"))["message"]:
                continue
            assert told["level"] == "error"
        store, run_id = served.manager.store, served.manager.run_id
        assert run_id is not None
        await until(lambda: served.manager.simulation is not None and served.manager.simulation.state == "failed")
        assert (await served.get("/api/status"))["error"]
        assert (await served.get("/api/health"))["state"] == "degraded"
        async with served.manager.starting:  # the end of the run is written down by now, or about to be
            pass
        while (await store.run(run_id)).status == "running":
            continue
        assert (await store.run(run_id)).status == "failed"
        assert (await served.post("/api/simulation/start", {"schedulers": ["eft"]}))["state"] == "running"


NUMBERS: list[dict[str, Any]] = [
    {"max_queue": 2**70},
    {"max_queue": 10**9 + 1},
    {"load": 1e-320},
    {"load": 101},
    {"rate": 1e-300},
    {"rate": 1e300},
    {"pace": 1e300},
    {"energy_weight": 1.5},
    {"num_gpus": 2**64},
    {"failed_gpus": [2**64]},
    {"seed": 2**63},
    {"schedulers": ["hybrid_ml:n_estimators=-1"]},
    {"schedulers": ["hybrid_ml:n_estimators=99999999999"]},
    {"schedulers": ["hybrid_ml:tolerance=1e999"]},
    {"schedulers": ["rl_agent:replay=-5"]},
    {"schedulers": ["oracle:step=1e-12"]},
    {"schedulers": ["jsq:d=1000000000000"]},
    {"schedulers": ["greedy:" + "x" * 400]},
]


async def test_what_a_pause_shows_is_handed_to_the_recorder(tmp_path: Path) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True) as served:
        await served.until_tasks(20)
        simulation, busy = served.manager.simulation, Event()
        assert simulation is not None

        def delay(_: RaceEvent) -> None:
            busy.set()
            time.sleep(0.5)

        simulation.sinks = [delay, *simulation.sinks]  # the recorder is late; the old list may be in use
        assert await asyncio.to_thread(busy.wait, DEADLINE)
        shown = (await served.post("/api/pause"))["tasks_processed"]
        await served.manager.flush()
        assert served.manager.recorder.rows_written == shown * (2 + len(QUICK))  # itself, an example, results


async def test_every_number_has_limits_and_the_race_goes_on(url: str) -> None:
    async with live(url, autostart=True) as served, served.watch() as client:
        for change in NUMBERS:
            for answer in (
                await served.client.patch("/api/simulation/settings", json=change),
                await served.client.post("/api/simulation/start", json=change),
            ):
                assert answer.status_code in (400, 409, 422), (change, answer.text)
        await client.next("simulation_update")
        await served.until_tasks(20)
        await served.manager.flush()
        assert (await served.get("/api/health"))["state"] == "ok"


async def test_every_number_of_every_request_has_a_limit_in_the_schema(tmp_path: Path) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db") as served:
        described = await served.get("/api/openapi.json")
    bodies = {
        name: schema
        for name, schema in described["components"]["schemas"].items()
        if schema.get("additionalProperties") is False
    }
    assert len(bodies) > 5
    parameters = [
        each["schema"]
        for operations in described["paths"].values()
        for operation in operations.values()
        for each in operation.get("parameters", [])
    ]
    numbers = [each for root in (*bodies.values(), *parameters) for each in _find_numbers(root)]
    assert len(numbers) > 20
    for each in numbers:
        assert {"maximum", "exclusiveMaximum"} & set(each), each
        assert {"minimum", "exclusiveMinimum"} & set(each), each


def _find_numbers(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") in ("integer", "number"):
            yield schema
        for key, value in schema.items():
            if key != "examples":
                yield from _find_numbers(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _find_numbers(value)
