"""The WebSocket: numbered, complete, patient with the slow."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from jsonschema_rs import validator_for
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from hybrid_scheduler.server.schemas.messages import messages
from live_server import Live, live, until

pytestmark = pytest.mark.asyncio
TASK = {"size": 1000.0, "compute_intensity": 0.5, "memory_required": 100.0}


@pytest.fixture
def sqlite(tmp_path: Any) -> str:
    return f"sqlite:///{tmp_path}/hms.db"


async def test_every_message_is_numbered_and_obeys_the_published_schema(sqlite: str) -> None:
    async with live(sqlite, autostart=True) as served, served.watch() as client:
        schema = validator_for(await served.get("/api/schema/ws"))
        hello = await client.next()
        assert hello["type"] == "hello"
        schema.validate(await client.next("history"))
        await served.client.patch("/api/simulation/settings", json={"failed_gpus": [1], "load": 2.0})
        await served.post("/api/tasks", TASK, 201)
        numbers: list[int] = []
        kinds: set[str] = set()
        while not {"simulation_update", "notification", "log"} <= kinds or len(numbers) < 30:
            message = await client.next()
            schema.validate(message)
            messages.validate_json(orjson.dumps(message))
            numbers.append(message["seq"])
            kinds.add(message["type"])
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_a_frame_holds_the_race_and_what_is_new(sqlite: str) -> None:
    async with live(sqlite, autostart=True) as served, served.watch() as client:
        last = (await client.next("simulation_update"))["records"][-1]["task_id"]
        await served.client.patch("/api/simulation/settings", json={"load": 0.5})
        marks: list[Any] = []
        while last < 100 or not marks:  # frames from before the change may still be on their way
            frame = await client.next("simulation_update")
            numbers = [record["task_id"] for record in frame["records"]]
            last += frame["records_total"]
            assert numbers == list(range(last - len(numbers) + 1, last + 1))  # the newest ones, none missing or twice
            assert len(numbers) == min(frame["records_total"], 50)
            assert len(frame["spans"]) == min(frame["spans_total"], 300)
            marks += frame["marks"]
        assert [mark["change"] for mark in marks] == [{"load": 0.5}]
        assert [each["name"] for each in frame["comparison"]] == [each["name"] for each in frame["schedulers"]]
        assert frame["task"]["id"] == frame["tasks_processed"] - 1
        assert set(frame["latest_results"]) == {each["name"] for each in frame["schedulers"]}


async def test_learners_tell_about_themselves_in_frames_and_in_the_comparison(sqlite: str) -> None:
    who = ("hybrid_ml", "rl_agent", "eft")
    async with live(sqlite, schedulers=who) as served, served.watch() as client:
        schema = validator_for(await served.get("/api/schema/ws"))
        await served.manager.start(paused=True)
        frame = await client.next("simulation_update")
        while not frame["analysis"]:
            frame = await client.next("simulation_update")
        schema.validate(frame)
        kinds = {each["name"]: each["insight"] and each["insight"]["kind"] for each in frame["schedulers"]}
        assert kinds == {"hybrid_ml": "forest", "rl_agent": "agent", "eft": None}
        learners = {"hybrid_ml": "forest", "rl_agent": "agent"}
        assert {name: each["kind"] for name, each in frame["analysis"]["histories"].items()} == learners
        assert all(len(orjson.dumps(each["insight"])) < 1000 for each in frame["schedulers"])
        answer = await served.get("/api/comparison")
        assert {each["name"]: each["insight"] and each["insight"]["kind"] for each in answer["ranking"]} == kinds
        assert {name: each["kind"] for name, each in answer["histories"].items()} == learners


async def test_what_does_not_apply_is_null_and_not_nan(sqlite: str) -> None:
    async with live(sqlite, autostart=True, max_queue=1, load=50.0) as served, served.watch() as client:
        rejected: list[Any] = []
        while not rejected:
            frame = await client.next("simulation_update")  # orjson refuses NaN, so reading it is the proof
            results = [record["results"]["round_robin"] for record in frame["records"]]
            rejected = [result for result in results if result["device"] == -1]
        assert [rejected[0][name] for name in ("start", "finish", "time", "turnaround")] == 4 * [None]
        assert rejected[0]["status"] == 5


async def test_a_client_that_comes_back_gets_what_it_missed(sqlite: str) -> None:
    async with live(sqlite) as served:
        async with served.watch() as client:
            stream = (await client.next())["stream"]
            served.manager.notify("one")
            cursor = (await client.next("notification"))["seq"]
        for word in ("two", "three"):
            served.manager.notify(word)
        async with served.watch(f"?cursor={cursor}&stream={stream}") as client:
            await client.next("hello")
            missed = [await client.next() for _ in range(4)]
            assert [each["seq"] for each in missed] == [cursor + 1, cursor + 2, cursor + 3, cursor + 4]
            assert [each["message"] for each in missed if each["type"] == "notification"] == ["two", "three"]


async def test_a_cursor_of_another_time_is_told_to_begin_anew(sqlite: str) -> None:
    async with live(sqlite, autostart=True) as served:
        await until(lambda: served.manager.hub.seq > 3)
        for query in ("?cursor=999999", "?cursor=0&stream=another", "?cursor=12345678901234567"):
            async with served.watch(query) as client:
                kinds = [(await client.next())["type"] for _ in range(4)]
                assert kinds == ["hello", "reset", "history", "simulation_update"], query


async def test_a_cursor_that_is_no_number_is_none(sqlite: str) -> None:
    async with live(sqlite, autostart=True) as served:
        await until(lambda: served.manager.hub.seq > 3)
        for query in ("?cursor=", "?cursor=-1", "?cursor=x", "?cursor=1e3"):
            async with served.watch(query) as client:
                kinds = [(await client.next())["type"] for _ in range(3)]
                assert kinds == ["hello", "history", "simulation_update"], query


async def test_a_client_that_joins_late_gets_the_last_minutes(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.websocket.POINT_SECONDS", 0.0)
    async with live(sqlite, autostart=True) as served:
        schema = validator_for(await served.get("/api/schema/ws"))
        await served.client.patch("/api/simulation/settings", json={"load": 0.5})
        hub = served.manager.hub
        await until(lambda: len(hub._history._points) > 5 and hub._history._marks)
        async with served.watch() as client:
            hello, history, frame = [await client.next() for _ in range(3)]
        schema.validate(history)
        messages.validate_json(orjson.dumps(history))
        assert history["seq"] == hello["seq"] >= frame["seq"]
        assert history["run_id"] == frame["run_id"]
        assert history["time"] == sorted(set(history["time"]))
        assert history["time"][-1] < frame["sim_time"]
        assert list(history["schedulers"]) == [each["name"] for each in frame["schedulers"]]
        assert {len(each["backlog"]) for each in history["schedulers"].values()} == {len(history["time"])}
        assert len(history["schedulers"]["eft"]["utilisation"]) == len(frame["devices"])
        assert [mark["change"] for mark in history["marks"]] == [{"load": 0.5}]
        assert any("load = 0.5" in line["message"] for line in history["log"])
        assert any("load = 0.5" in each["message"] for each in history["notifications"])


async def test_a_client_that_never_reads_delays_no_other_and_is_told(sqlite: str) -> None:
    async with (
        live(sqlite, client_queue=4) as served,
        served.watch(max_queue=1, max_size=None, ping_interval=None) as slow,
        served.watch(max_size=None) as quick,
    ):
        await quick.next("hello")
        sent = [await _notified(served, quick, number) for number in range(30)]
        assert sent == list(range(30))
        assert len(served.manager.hub.clients) == 2
        skipped, told, last = 0, [], -1
        while last < 29:  # now it reads after all
            message = await slow.next()
            skipped += message["count"] if message["type"] == "skipped" else 0
            if message["type"] == "notification":
                last = int(message["message"].split()[0])
                told.append(last)
        assert skipped > 0
        assert told == sorted(told)
        assert len(told) <= 30 - skipped // 2  # every notification comes with a line of the log


async def _notified(served: Live, client: Any, number: int) -> int:
    served.manager.hub.publish("notification", level="info", message=f"{number} " + 500_000 * "x")
    return int((await client.next("notification"))["message"].split()[0])


async def test_a_client_that_never_reads_does_not_keep_the_server_from_ending(sqlite: str) -> None:
    async with live(sqlite, shutdown_seconds=1) as served:
        slow = await connect(served.address.replace("http", "ws") + "/ws", max_queue=1, max_size=None)
        await until(lambda: served.manager.hub.clients)
        for _ in range(30):
            served.manager.hub.publish("notification", level="info", message=500_000 * "x")
    slow.transport.abort()
    await slow.wait_closed()


async def test_foreign_pages_may_not_connect(sqlite: str) -> None:
    async with live(sqlite, allowed_origins="http://friend.example") as served:
        port = served.address.rpartition(":")[2]
        for origin in ("http://evil.example", f"http://evil.example:{port}", "null"):
            with pytest.raises(InvalidStatus):
                async with served.watch(origin=origin):
                    pass
        for origin in ("http://friend.example", f"http://127.0.0.1:{port}"):
            async with served.watch(origin=origin) as client:
                assert (await client.next())["type"] == "hello"


async def test_the_number_of_clients_is_limited(sqlite: str) -> None:
    async with live(sqlite, max_clients=1) as served, served.watch():
        await until(lambda: served.manager.hub.clients)
        with pytest.raises(InvalidStatus):
            async with served.watch():
                pass


async def test_a_client_that_sends_too_much_is_disconnected(sqlite: str) -> None:
    async with live(sqlite) as served:
        async with served.watch() as client:
            await client.socket.send("hello")  # nobody listens, nobody minds
            await client.next("hello")
            await client.socket.send("x" * 100_000)
            await client.socket.wait_closed()
            assert client.socket.close_code == 1009
        await until(lambda: not served.manager.hub.clients)
