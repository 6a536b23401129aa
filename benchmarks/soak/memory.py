"""`Scale`: weighs the server now and then, in a thread."""

from __future__ import annotations

import threading
import time
from statistics import median
from types import TracebackType
from typing import Self

from benchmarks.soak.server import Server

GAP = 0.5  # seconds between two looks
SHARE = 0.15  # of the looks after the warm-up that make up its beginning, and its end


class Scale:
    """Resident memory over time."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._weigh, name="scale", daemon=True)
        self.looks: list[tuple[float, int]] = []  # moment, bytes

    def growth(self, warm_up: float) -> tuple[float, float]:
        """Return the bytes after the warm-up and at the end, as medians of many looks."""
        begin = self.looks[0][0] + warm_up
        weights = [weight for moment, weight in self.looks if moment >= begin and weight]
        some = max(1, int(len(weights) * SHARE))
        return float(median(weights[:some])), float(median(weights[-some:]))

    def every(self, seconds: float) -> list[float]:
        """Return megabytes, one figure for so many seconds."""
        return [round(weight / 1e6, 1) for _, weight in self.looks[:: max(1, int(seconds / GAP))]]

    def _weigh(self) -> None:
        while not self._over.wait(GAP):
            self.looks.append((time.monotonic(), self._server.resident()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(10)
