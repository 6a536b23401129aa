"""Secrets stay where they were put: not in logs, answers, files or the list of processes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from live_server import Process

TOKEN, PASSWORD = "a-token-nobody-may-see", "a-password-nobody-may-see"
SECRETS = (TOKEN.encode(), PASSWORD.encode())


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
        async with httpx.AsyncClient(base_url=address) as client:
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
