"""What a read from the cache costs, against a bare FastAPI endpoint; and health while runs are exported."""

from __future__ import annotations

import asyncio
import http.client
import tempfile
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from benchmarks.asking import ask, latencies, wait_for
from benchmarks.rows import Row, require, side_by_side
from benchmarks.server_process import served
from benchmarks.soak import asking
from benchmarks.soak.server import Server

PATHS = {"rest_comparison": "/api/comparison", "rest_wins": "/api/matrix/wins"}
CONNECTIONS, EACH, REPEATS = 8, 400, 6
TARGET = 0.5
EXPORTS, TASKS, SECONDS = 30, 60_000, 30.0  # at the same time, of a run of so many tasks, watched for so long
HEALTH, PACE = 0.2, 20.0  # seconds that health may take; tasks a second that the race is to keep


def rest_reads() -> list[Row]:
    """Measure answers per second while the simulation runs; the other side says {"ok": true}."""
    with served() as port, asyncio.Runner() as runner:
        for path in PATHS.values():
            wait_for(port, path)

        def asked(path: str) -> None:
            runner.run(ask(port, path, CONNECTIONS, EACH))

        rows = []
        for name, path in PATHS.items():
            ours, theirs = side_by_side(REPEATS, lambda path=path: asked(path), lambda: asked("/bare"))  # type: ignore[misc]  # the checker cannot infer a lambda with a default
            rows.append(Row(name, CONNECTIONS * EACH / ours, CONNECTIONS * EACH / theirs, "answers/s", TARGET))
        return rows


def reads_under_exports() -> list[Row]:
    """Measure health and the pace of the race while a long run is exported many times at once."""
    settings = {"SCHEDULERS": "round_robin,greedy,eft,oracle"}
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder), settings) as server:
        port, over = server.port, threading.Event()
        asking.wait_for_tasks(port, TASKS, 600.0)
        require(asking.ask(port, "PATCH", "/api/simulation/settings", {"pace": PACE})[0] == 200, "no other pace")
        path = f"/api/runs/{asking.ask_status(port)['run_id']}/export"
        threads = [threading.Thread(target=_export, args=(port, path, over)) for _ in range(EXPORTS)]
        for each in threads:
            each.start()
        first, begin = asking.ask_status(port)["tasks_processed"], time.monotonic()
        waits = latencies(port, "/api/health", SECONDS, 0.1)
        placed, seconds = asking.ask_status(port)["tasks_processed"] - first, time.monotonic() - begin
        over.set()
        for each in threads:
            each.join()
    return [
        Row("health_under_exports", float(np.quantile(waits, 0.99)), HEALTH, "s", target=1.0, at_most=True),
        Row("race_under_exports", placed / seconds, PACE, "tasks/s", target=0.95),
    ]


def _export(port: int, path: str, over: threading.Event) -> None:
    """Read exports one after the other, as fast as they come, until told to end."""
    while not over.is_set():
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as connection, suppress(OSError):
            connection.request("GET", path)
            answer = connection.getresponse()
            while answer.read(1 << 16) and not over.is_set():
                pass
