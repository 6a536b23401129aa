"""`Scale`: weighs the server now and then, in a thread."""

from __future__ import annotations

import time
from statistics import median

from benchmarks.soak.beside import Beside
from benchmarks.soak.server import Server

GAP = 0.5  # seconds between two looks
SHARE = 0.15  # of the looks after the warm-up that make up its beginning, and its end


class Scale(Beside):
    """Resident memory over time."""

    def __init__(self, server: Server) -> None:
        super().__init__()
        self._server = server
        self.looks: list[tuple[float, int]] = []  # moment, bytes

    def growth(self, warm_up: float) -> tuple[float, float]:
        """Return the bytes after the warm-up and at the end, as medians of many looks."""
        begin = max(self.looks[0][0], self._server.started) + warm_up
        weights = [weight for moment, weight in self.looks if moment >= begin and weight]
        some = max(1, int(len(weights) * SHARE))
        return float(median(weights[:some])), float(median(weights[-some:]))

    def every(self, seconds: float) -> list[float]:
        """Return megabytes, one figure for so many seconds."""
        return [round(weight / 1e6, 1) for _, weight in self.looks[:: max(1, int(seconds / GAP))]]

    def _watch(self) -> None:
        while not self._over.wait(GAP):
            self.looks.append((time.monotonic(), self._server.resident()))
