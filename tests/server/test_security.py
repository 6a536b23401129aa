"""What is refused before it reaches a route, how errors look, and that secrets stay secret."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from loguru import logger

from live_server import DEADLINE, Process, live
from served import serving

pytestmark = pytest.mark.asyncio
TOKEN = "a-long-random-word"
START = "/api/simulation/start"
JSON = {"content-type": "application/json"}
NONSENSE = [
    b"{",
    b"\xff\xfe",
    b"nonsense",
    b'{"load": NaN}',
    b'{"load": Infinity}',
    b'{"load": 1e999}',
    b'{"seed": 99999999999999999999999999}',
    b'{"seed": 1.5}',
    b'{"num_gpus": "4"}',
    b'{"schedulers": "eft"}',
    b'{"schedulers": [1]}',
    b'{"failed_gpus": [true]}',
    b'{"preset": "\\ud800"}',
    b"[" * 20_000,
    b"null1",
]
TOKEN, PASSWORD = "a-token-nobody-may-see", "a-password-nobody-may-see"
SECRETS = (TOKEN.encode(), PASSWORD.encode())


@pytest.fixture
def sqlite(tmp_path: Any) -> str:
    return f"sqlite:///{tmp_path}/hms.db"


def problem(answer: httpx.Response) -> tuple[int, str]:
    """Return status and kind after checking the shape."""
    assert set(answer.json()) == {"error"}
    error = answer.json()["error"]
    assert set(error) == {"kind", "message", "hint", "detail"}
    assert error["message"]
    return answer.status_code, error["kind"]


async def test_commands_need_the_token_where_there_is_one(sqlite: str) -> None:
    async with live(sqlite, token=TOKEN) as served:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN[:-1]}):
            answer = await served.client.post(START, headers=headers)
            assert problem(answer) == (401, "unauthorized")
            assert answer.headers["www-authenticate"] == "Bearer"
        assert (await served.client.get("/api/status")).status_code == 200
        assert (await served.client.post(START, headers={"authorization": f"Bearer {TOKEN}"})).status_code == 200


async def test_beyond_loopback_commands_are_refused_without_a_token(sqlite: str) -> None:
    async with live(sqlite, host="0.0.0.0") as served:
        answer = await served.client.post(START)
        assert problem(answer) == (403, "forbidden")
        assert answer.json()["error"]["hint"] == "set TOKEN"


async def test_foreign_pages_may_not_send_commands(sqlite: str) -> None:
    async with live(sqlite, allowed_origins="http://friend.example") as served:
        port = served.address.rpartition(":")[2]
        for origin in ("http://evil.example", f"http://evil.example:{port}", "null", "http://[", "https://127.0.0.1"):
            answer = await served.client.post("/api/simulation/pause", headers={"origin": origin})
            assert problem(answer) == (403, "forbidden"), origin
        for origin in ("http://friend.example", served.address):
            answer = await served.client.post("/api/simulation/pause", headers={"origin": origin})
            assert problem(answer) == (409, "conflict")
        preflight = {"origin": "http://friend.example", "access-control-request-method": "POST"}
        answer = await served.client.options(START, headers=preflight)
        assert answer.headers["access-control-allow-origin"] == "http://friend.example"


async def test_the_development_server_of_the_dashboard_may_send_commands_on_this_machine(sqlite: str) -> None:
    async with live(sqlite) as served:
        for origin in ("http://localhost:5173", "http://127.0.0.1:5173"):
            answer = await served.client.post("/api/simulation/pause", headers={"origin": origin})
            assert problem(answer) == (409, "conflict")
            assert answer.headers["access-control-allow-origin"] == origin
            async with served.watch(origin=origin) as client:
                assert (await client.next())["type"] == "hello"
        for origin in ("http://localhost:5174", "https://localhost:5173", "http://evil.example:5173"):
            answer = await served.client.post("/api/simulation/pause", headers={"origin": origin})
            assert problem(answer) == (403, "forbidden"), origin
            assert "access-control-allow-origin" not in answer.headers
        proxied = {"origin": "http://localhost:5174", "host": "localhost:5174"}  # as a proxy on another port asks
        assert problem(await served.client.post("/api/pause", headers=proxied)) == (409, "conflict")


@pytest.mark.parametrize("settings", [{"host": "0.0.0.0", "token": TOKEN}, {"environment": "production"}])
async def test_in_production_and_beyond_this_machine_it_may_not(sqlite: str, settings: dict[str, str]) -> None:
    async with live(sqlite, **settings) as served:
        headers = {"origin": "http://localhost:5173", "authorization": f"Bearer {TOKEN}"}
        assert problem(await served.client.post("/api/simulation/pause", headers=headers)) == (403, "forbidden")


async def test_a_name_pointed_at_this_machine_is_not_trusted(sqlite: str) -> None:
    async with live(sqlite) as served:
        headers = {"origin": "http://evil.example", "host": "evil.example"}
        assert problem(await served.client.post("/api/pause", headers=headers)) == (403, "forbidden")


async def test_a_name_pointed_at_this_machine_reads_nothing(sqlite: str) -> None:
    async with live(sqlite, allowed_origins="https://friend.example") as served:
        for name in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "[", ""):
            answer = await served.client.get("/api/status", headers={"host": name})
            assert answer.status_code in (400, 403), name
        for name in ("localhost:1", "127.0.0.1", "[::1]:8000", "friend.example"):
            assert (await served.client.get("/api/status", headers={"host": name})).status_code == 200, name
    async with live(sqlite, host="0.0.0.0") as served:
        assert (await served.client.get("/api/status", headers={"host": "lab.example"})).status_code == 200


async def test_large_bodies_are_refused_however_they_come(sqlite: str) -> None:
    async with live(sqlite, max_body_bytes=1000) as served:
        assert problem(await served.client.post(START, content=b"x" * 1001)) == (413, "too_large")

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b" " * 100

        assert problem(await served.client.post(START, content=endless(), headers=JSON)) == (413, "too_large")


async def test_bodies_that_make_no_sense_are_told_so(sqlite: str) -> None:
    async with live(sqlite) as served:
        for body in NONSENSE:
            answer = await served.client.post(START, content=body, headers=JSON)
            status, kind = problem(answer)
            assert (status in (400, 422), kind) == (True, "invalid"), answer.text


async def test_too_many_requests_get_429_and_a_time_to_wait(sqlite: str) -> None:
    async with live(sqlite, rate_limit="5/minute") as served:
        # A window that slides on in between lets a sixth one through.
        answers = [await served.client.get("/api/status") for _ in range(7)]
        assert [each.status_code for each in answers][:5] == [200] * 5
        assert answers[-1].status_code == 429
        assert problem(answers[-1]) == (429, "too_many_requests")
        assert answers[-1].headers["retry-after"]
        assert (await served.client.get("/api/health")).status_code == 200


async def test_what_is_not_there_has_the_same_shape(sqlite: str) -> None:
    async with live(sqlite) as served:
        for method, path in (("GET", "/api/nothing"), ("POST", "/api/nothing/at/all"), ("GET", "/nothing")):
            answer = await served.client.request(method, path)
            assert problem(answer) == (404, "not_found")
            assert path in answer.json()["error"]["message"]


async def test_an_unforeseen_error_is_logged_and_not_shown(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    number = logger.add(lambda line: lines.append(str(line)))

    async def broken() -> None:
        raise RuntimeError("the secret of the house")

    async with live(sqlite) as served:
        monkeypatch.setattr(served.manager.store, "ping", broken)
        answer = await served.client.get("/api/health")
        assert problem(answer) == (500, "internal")
        assert "secret" not in answer.text
        assert answer.headers["x-content-type-options"] == "nosniff"
    logger.remove(number)
    logged = "".join(lines)
    assert answer.json()["error"]["hint"].split()[2] in logged
    assert "the secret of the house" in logged


async def test_every_answer_has_safe_headers(sqlite: str) -> None:
    async with live(sqlite) as served:
        for path in ("/", "/api/status", "/api/nothing", "/nothing"):
            headers = (await served.client.get(path)).headers
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert "default-src 'self'" in headers["content-security-policy"]
            assert "server" not in headers
        assert "connect-src 'self';" in headers["content-security-policy"]  # nothing can be sent elsewhere
        assert "unsafe-eval" not in headers["content-security-policy"]
        assert "script-src" not in headers["content-security-policy"]  # so scripts come from 'self' only


def shown(place: bytes) -> list[bytes]:
    return [each for each in SECRETS if each in place]


def family(pid: int) -> list[int]:
    """Return a process and all that it has started, as Linux lists them."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    below = [int(each) for each in children.read_text().split()] if children.exists() else []
    return [pid, *(one for child in below for one in family(child))]


@pytest.mark.asyncio
async def test_no_secret_leaves_a_running_server(tmp_path: Path) -> None:
    settings = {
        "TOKEN": TOKEN,
        "REDIS_URL": f"redis://:{PASSWORD}@127.0.0.1:1/0",  # nobody there: so it is talked about
        "LOG_LEVEL": "DEBUG",
        "LOG_FILE": "app.log",
        "DATA_DIR": "data",
    }
    with Process(tmp_path, "sqlite:///data/hms.db", **settings) as process:
        address = await asyncio.to_thread(lambda: process.address)
        async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as client:
            for given in (TOKEN[:-1], TOKEN):
                answer = await client.post("/api/simulation/step", headers={"authorization": f"Bearer {given}"})
                assert (answer.status_code == 401) == (given != TOKEN)
                assert not shown(answer.content)
            for path in ("/api/simulation/settings", "/api/health", "/api/metrics", "/api/runs", "/api/nothing"):
                assert not shown((await client.get(path)).content), path
            listed = [Path(f"/proc/{each}/cmdline") for each in family(process._process.pid)]
            assert not shown(b"".join(each.read_bytes() for each in listed if each.exists()))
        process.end()
        printed = "".join(process.lines)
    assert "Redis" in printed
    assert not shown(printed.encode())
    kept = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert {"app.log", "hms.db"} <= {each.name for each in kept}
    assert not [each.name for each in kept if shown(each.read_bytes())]


async def test_wrong_tokens_are_counted_slowed_down_and_logged_and_the_right_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = list[float]()

    async def note(seconds: float) -> None:
        waited.append(seconds)

    lines = list[str]()
    handler = logger.add(lambda line: lines.append(str(line)), level="WARNING")
    async with serving(f"sqlite:///{tmp_path}/hms.db", token="right" * 4) as service:
        monkeypatch.setattr("hybrid_scheduler.server.security.asyncio.sleep", note)
        codes = [
            (await service.client.post("/api/pause", headers={"authorization": f"Bearer {guess}"})).status_code
            for guess in range(30)
        ]
        right = await service.client.post("/api/pause", headers={"authorization": "Bearer " + "right" * 4})
        monkeypatch.undo()
    logger.remove(handler)
    assert codes == [401] * 10 + [429] * 20
    assert waited == [1.0] * 20
    assert right.status_code == 409  # let in: there is no simulation to pause
    assert sum("wrong control token from" in line for line in lines) == 10


async def test_only_configured_proxies_are_believed_who_asks(tmp_path: Path) -> None:
    spoofed = {"x-forwarded-for": "9.9.9.9"}
    for proxies, codes in (("", {429}), ("127.0.0.1", {200})):
        url = f"sqlite:///{tmp_path}/{len(proxies)}.db"
        async with live(url, rate_limit="3/hour", forwarded_allow_ips=proxies) as served:
            for _ in range(3):
                await served.client.get("/api/status")
            assert {(await served.client.get("/api/status", headers=spoofed)).status_code} == codes


async def test_a_body_that_stops_coming_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.security.BODY_SECONDS", 0.1)

    async with live(f"sqlite:///{tmp_path}/hms.db", data_dir=tmp_path) as served:
        host, port = served.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = "POST /api/workloads?name=slow.csv HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nsize,"
        writer.write(head.encode())
        assert b" 408 " in await reader.readline()
        writer.close()
