"""What a read that comes from the cache costs, against a bare FastAPI endpoint in the same uvicorn."""

from __future__ import annotations

import asyncio

from benchmarks.asking import ask, wait_for
from benchmarks.rows import Row, side_by_side
from benchmarks.server_process import served

PATHS = {"rest_comparison": "/api/comparison", "rest_wins": "/api/matrix/wins"}
CONNECTIONS, EACH, REPEATS = 8, 400, 6
TARGET = 0.5


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
