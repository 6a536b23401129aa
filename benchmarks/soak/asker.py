"""`Asker`: asks REST one question after the other, in a thread, and notes how long answers took."""

from __future__ import annotations

import http.client
import time
from collections import Counter, defaultdict
from itertools import cycle

import numpy as np

from benchmarks.soak.beside import Beside
from benchmarks.soak.server import Server

FROM_MEMORY = ("/api/comparison", "/api/status", "/api/metrics", "/api/matrix/wins")
FROM_DATABASE = ("/api/runs?limit=5", "/api/tasks?limit=50", "/api/history/comparative?limit=50", "/api/health")
GAP = 0.05  # seconds between two questions


class Asker(Beside):
    """Asks until told to stop; answers 503 of questions for the database are told apart from failures.

    What nobody answers because the server was killed meanwhile is no failure either.
    """

    patience = 70.0  # an answer may take a minute

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server, self._port = server, server.port
        self.seconds: dict[str, list[float]] = defaultdict(list)  # memory, database: of good answers
        self.statuses: Counter[int] = Counter()
        self.failures: list[str] = []

    def quantile(self, kind: str, q: float) -> float:
        """Return a quantile of the seconds that good answers took."""
        return float(np.quantile(self.seconds[kind], q)) if self.seconds[kind] else float("nan")

    def _watch(self) -> None:
        for memory, database in zip(cycle(FROM_MEMORY), cycle(FROM_DATABASE), strict=False):
            for kind, path in (("memory", memory), ("database", database)):
                if self._over.wait(GAP):
                    return
                self._ask(kind, path)

    def _ask(self, kind: str, path: str) -> None:
        begin, kills, away = time.perf_counter(), self._server.kills, self._server.away
        failure = self._try(kind, path, begin)
        if failure and not away and kills == self._server.kills:
            self.failures.append(f"{path}: {failure}")

    def _try(self, kind: str, path: str, begin: float) -> str:
        """Ask; return what was wrong, empty if nothing."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__} {error}"
        finally:
            connection.close()
        self.statuses[answer.status] += 1
        if answer.status == 200:
            self.seconds[kind].append(time.perf_counter() - begin)
            return ""
        return str(answer.status) if kind == "memory" or answer.status != 503 else ""
