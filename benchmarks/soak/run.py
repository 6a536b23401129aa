"""`soak`: the server, its clients and its troubles, from the first frame to the count of rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.rows import require
from benchmarks.soak.asker import Asker
from benchmarks.soak.asking import PATIENCE, TOKEN, ask, ask_metrics, ask_status, wait_for_tasks
from benchmarks.soak.memory import Scale
from benchmarks.soak.proxy import Proxy
from benchmarks.soak.report import Report
from benchmarks.soak.server import Server
from benchmarks.soak.stored import Stored, stored
from benchmarks.soak.troubles import Troubles
from services import Postgres, Redis

FIRST_TASKS, START = 100, 300.0  # learners begin slowly on a busy machine


@dataclass(frozen=True)
class Plan:
    """How long, how many, how often."""

    seconds: float = 600.0
    clients: int = 200
    every: float = 12.0  # seconds between two troubles
    lasting: float = 3.0  # seconds that one lasts
    kills: int = 3  # of the server, at the beginning: memory is compared in one process
    warm_up: float = 120.0
    schedulers: str = ""  # the server's own choice
    growth_matters: bool = True


def soak(plan: Plan) -> Report:
    """Run the server with all that goes wrong, then count."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Postgres() as postgres,
        Redis() as redis,
        Proxy(postgres.port) as proxy,
    ):
        settings = {
            "DATABASE_URL": f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres",
            "REDIS_URL": redis.url,
            "SCHEDULERS": plan.schedulers,
            "RESUME": "true",
            "TOKEN": TOKEN,
        }
        with Server(Path(folder), settings) as server:
            return _measured(plan, server, Troubles(server, proxy, postgres, redis), postgres.url())


def _measured(plan: Plan, server: Server, troubles: Troubles, database: str) -> Report:
    port = server.port
    wait_for_tasks(port, FIRST_TASKS, START)
    with Scale(server) as scale, Asker(server) as asker, _clients(port, plan) as watching:
        require(watching.stdout is not None and watching.stdout.readline().strip() == "all", "not all clients joined")
        begin, first = time.monotonic(), ask_metrics(port)
        troubles.go_on(plan.seconds, plan.every, plan.lasting, plan.kills)
        seconds, last = time.monotonic() - begin, ask_metrics(port)
        frames: dict[str, float] = json.loads(watching.communicate(timeout=PATIENCE)[0])
        lived = server.alive
    ended = _ended(port)
    figures = ask_metrics(port)
    found: Stored = stored(database, int(ended["run_id"]))
    warm, end = scale.growth(plan.warm_up)
    acknowledged = int(troubles.rows_acknowledged + figures["hms_recorder_rows_total"])
    tasks = int(ended["tasks_processed"])
    quantiles = {f"{kind} p{q}": asker.quantile(kind, q / 100) for kind in ("memory", "database") for q in (50, 99)}
    return Report(
        seconds=seconds,
        tasks=tasks,
        placements_a_second=(last["placements"] - first["placements"]) / seconds,
        warm_bytes=warm,
        end_bytes=end,
        megabytes=scale.every(10.0),
        rows_acknowledged=acknowledged,
        rows_stored=found.rows,
        rows_missing=found.missing(acknowledged, tasks),
        rows_refused=int(figures["hms_recorder_refused_total"]),
        commands_acknowledged=len(troubles.submitted),
        commands_lost=len(troubles.submitted - found.submitted),
        background_dead=max(0, int(first["hms_background_tasks"] - last["hms_background_tasks"])),
        background_failures=int(figures["hms_background_failures_total"]),
        frames=frames,
        frames_a_second=frames["received"] / frames["clients"] / seconds,
        rest=quantiles,
        statuses=dict(asker.statuses),
        failures=[*asker.failures, *troubles.failures],
        troubles=dict(troubles.made),
        server_lived=lived,
        growth_matters=plan.growth_matters,
    )


def _clients(port: int, plan: Plan) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.soak.clients", str(port), str(plan.clients)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=Path(__file__).parents[2], stdin=pipe, stdout=pipe, text=True)


def _ended(port: int) -> dict[str, Any]:
    """End the run, once the last trouble is over, and return how it stood."""
    end = time.monotonic() + PATIENCE
    while (health := json.loads(ask(port, "GET", "/api/health")[1]))["state"] != "ok":
        require(time.monotonic() < end, f"the server does not recover: {health}")
        time.sleep(0.2)
    status, body = ask(port, "POST", "/api/simulation/stop")
    require(status == 200, f"the run could not be ended: {body.decode()}")
    return ask_status(port)
