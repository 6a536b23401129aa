"""Questions and commands to the server of a soak."""

from __future__ import annotations

import http.client
import json
import re
import time
from typing import Any

from benchmarks.rows import require

TOKEN = "soak"  # noqa: S105  # of a server that lives for minutes
PATIENCE = 120.0  # seconds


def ask(
    port: int, method: str, path: str, body: object = None, token: str = TOKEN, content: bytes = b""
) -> tuple[int, bytes]:
    """Send a request; return status and body of the answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    sent = content if body is None else json.dumps(body).encode()
    try:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.request(method, path, sent or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def ask_status(port: int) -> dict[str, Any]:
    """Return the state of the race."""
    status: dict[str, Any] = json.loads(ask(port, "GET", "/api/status")[1])
    return status


def ask_metrics(port: int) -> dict[str, float]:
    """Return the metrics that have no labels, and the placements of all schedulers together."""
    text = ask(port, "GET", "/api/metrics")[1].decode()
    plain = {name: float(value) for name, value in re.findall(r"^(\w+) ([\d.e+-]+)$", text, flags=re.M)}
    return plain | {"placements": sum(map(float, re.findall(r"^hms_placements_total{.*} (\S+)$", text, flags=re.M)))}


def wait_for_tasks(port: int, count: int, seconds: float) -> None:
    """Wait until the race has placed so many tasks and goes on."""
    end = time.monotonic() + seconds
    while (status := ask_status(port))["tasks_processed"] < count or status["state"] != "running":
        require(time.monotonic() < end, f"the race does not move: {status['state']} {status['notice']}")
        time.sleep(0.1)
