"""The service in a process of its own, as `hms serve` runs it, and a bare FastAPI endpoint in the same uvicorn."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from loguru import logger

from benchmarks.rows import require
from hybrid_scheduler.server.serve import build_config, listen
from hybrid_scheduler.settings import load_settings

USUAL: dict[str, Any] = {
    "schedulers": [
        "round_robin",
        "random",
        "greedy",
        "eft",
        "price",
        "oracle",
    ],  # six; learning is measured elsewhere
    "log_file": "none",
    "rate_limit": "100000000/minute",  # counted as always, but never reached
}


@contextmanager
def served(**settings: Any) -> Iterator[int]:
    """Run the service with a simulation and an empty database; return its port."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = USUAL | {"database_url": f"sqlite:///{folder}/hms.db"} | settings
        command = [sys.executable, "-m", __name__, json.dumps(wanted)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                first = process.stdout.readline() if process.stdout else ""
                require(first.strip().isdecimal(), "the service did not start")
                yield int(first)
            finally:
                process.terminate()


def main(settings: dict[str, Any]) -> None:
    """Serve until told to end; print the port."""
    logger.remove()
    config = build_config(load_settings(**settings))
    service, bare = config.app, FastAPI()

    @bare.get("/bare")
    async def answer() -> dict[str, bool]:
        return {"ok": True}

    async def either(scope: Any, receive: Any, send: Any) -> None:
        await (bare if scope.get("path") == "/bare" else service)(scope, receive, send)  # type: ignore[operator,misc,call-arg]  # both are ASGI applications

    config.app = either
    with listen("127.0.0.1", 0) as listener:
        print(listener.getsockname()[1], flush=True)  # connections wait until uvicorn listens
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
