"""The stack of docker-compose.yml without an engine: its commands and environments on throw-away servers."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import yaml
from websockets.asyncio.client import connect

from databases import run_apart
from deploy.composed import DEADLINE, ROOT, Container, compose
from services import Postgres, Redis

VALUES = {
    "ENVIRONMENT": "production",
    "TOKEN": "a-long-random-word-1234",
    "POSTGRES_PASSWORD": "not-the-default",
    "GRAFANA_PASSWORD": "x",
}
OURS = ("server", "web-1", "web-2")
CLIENT = httpx.Client(timeout=DEADLINE)
LIGHT = {"SCHEDULERS": "round_robin,greedy,eft,oracle", "PACE": "100", "FRAME_SECONDS": "0.1"}  # none that learns


@pytest.fixture(scope="module")
def stack(
    postgres: Postgres, redis_server: Redis, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The addresses of the server and both web workers."""
    services = compose(VALUES)
    _prepare(postgres, services["postgres"]["environment"])
    adapted = {"POSTGRES_HOST": "127.0.0.1", "POSTGRES_PORT": str(postgres.port), "REDIS_URL": redis_server.url}
    folder = tmp_path_factory.mktemp("data")
    adapted |= {"PORT": "0", "DATA_DIR": str(folder), **LIGHT}
    with ExitStack() as running:
        running.callback(lambda: redis_server.ask("FLUSHALL"))
        started = {name: running.enter_context(Container(services[name], folder, adapted)) for name in OURS[:1]}
        healthy(started["server"].address)  # as depends_on says
        started |= {name: running.enter_context(Container(services[name], folder, adapted)) for name in OURS[1:]}
        yield {name: each.address for name, each in started.items()}


def _prepare(postgres: Postgres, environment: dict[str, str]) -> None:
    """Do what PostgreSQL's image does at its first start."""
    import asyncpg

    async def make() -> None:
        connection: Any = await asyncpg.connect(postgres.url().replace("+asyncpg", ""))
        await connection.execute(f"CREATE ROLE {environment['POSTGRES_USER']} LOGIN")
        await connection.execute(f"CREATE DATABASE {environment['POSTGRES_DB']} OWNER {environment['POSTGRES_USER']}")
        await connection.close()

    run_apart(make)


def healthy(address: str) -> dict[str, Any]:
    end = time.monotonic() + DEADLINE
    while (answer := CLIENT.get(f"{address}/api/health")).status_code != 200 or answer.json()["state"] != "ok":
        assert time.monotonic() < end, answer.text
        time.sleep(0.1)
    health: dict[str, Any] = answer.json()
    return health


def test_every_process_is_healthy_on_postgresql_and_redis(stack: dict[str, str]) -> None:
    for address in stack.values():
        health = healthy(address)
        assert (health["store"]["kind"], health["cache"]["kind"]) == ("postgresql", "redis")


@pytest.mark.parametrize("worker", OURS[1:])
def test_a_race_moves_before_the_clients_of_a_web_worker(stack: dict[str, str], worker: str) -> None:
    async def watch() -> tuple[int, int]:
        passed: list[int] = []
        async with (
            connect(stack[worker].replace("http", "ws") + "/ws", open_timeout=DEADLINE) as socket,
            asyncio.timeout(DEADLINE),
        ):
            while len(passed) < 5:
                message = orjson.loads(await socket.recv())
                if message["type"] == "simulation_update":
                    passed.append(message["tasks_processed"])
        return passed[0], passed[-1]

    first, last = asyncio.run(watch())
    assert last > first


def test_orders_through_a_worker_need_the_token_and_reach_the_simulation(stack: dict[str, str]) -> None:
    order = f"{stack['web-1']}/api/simulation/pause"
    assert CLIENT.post(order).status_code == 401
    bearer = {"Authorization": f"Bearer {VALUES['TOKEN']}"}
    assert CLIENT.post(order, headers=bearer).json()["state"] == "paused"
    assert CLIENT.get(f"{stack['server']}/api/status").json()["state"] == "paused"
    assert CLIENT.post(order.replace("pause", "resume"), headers=bearer).json()["state"] == "running"


def test_a_worker_serves_the_dashboard(stack: dict[str, str]) -> None:
    page = CLIENT.get(stack["web-2"])
    assert (page.status_code, 'id="root"' in page.text) == (200, True)


def test_prometheus_finds_its_path_and_all_names_of_the_pictures_and_alerts(stack: dict[str, str]) -> None:
    path = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())["scrape_configs"][0][
        "metrics_path"
    ]
    CLIENT.get(f"{stack['server']}/api/status")  # so that a request has been timed
    exposed = {
        name
        for address in stack.values()
        for name in re.findall(r"^(hms_\w+)", CLIENT.get(address + path).text, re.M)
    }
    used = named_in(ROOT / "deploy/grafana/dashboards/hms.json") | named_in(ROOT / "deploy/prometheus/rules.yml")
    assert used <= exposed
    left_out = {name for name in exposed if not name.endswith(("_created", "_sum", "_bucket", "_count"))} - used
    assert left_out <= {"hms_tasks_per_second", "hms_placements_total", "hms_http_seconds"}


def named_in(file: Path) -> set[str]:
    return set(re.findall(r"\bhms_\w+", file.read_text(encoding="utf-8")))


def test_what_prometheus_asks_and_the_proxy_serves_are_services_of_the_stack() -> None:
    services = compose(VALUES)
    scraped = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())["scrape_configs"][0]
    targets = {target for group in scraped["static_configs"] for target in group["targets"]}
    assert targets == {f"{name}:{services[name]['environment']['PORT']}" for name in OURS}
    behind = re.search(r"reverse_proxy (.+) \{", (ROOT / "deploy/proxy/Caddyfile").read_text())
    assert behind is not None
    assert set(behind[1].split()) == targets - {"server:8000"}
    source = yaml.safe_load((ROOT / "deploy/grafana/provisioning/datasources/prometheus.yml").read_text())
    board = json.loads((ROOT / "deploy/grafana/dashboards/hms.json").read_text())
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {source["datasources"][0]["uid"]}
