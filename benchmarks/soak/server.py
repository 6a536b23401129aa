"""`hms serve` in a process of its own, and what memory and time it takes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from benchmarks.rows import require

USUAL = {
    "HOST": "127.0.0.1",
    "PORT": "0",
    "PACE": "none",
    "MAX_QUEUE": "1000",  # the queue of a saturated policy grows for ever, and memory with it
    "KEEP_TASKS": "none",  # all are counted at the end
    "RATE_LIMIT": "100000000/minute",  # counted as always, but never reached
    "LOG_FILE": "none",
    "PYTHONUNBUFFERED": "1",
}


class Server:
    """The service as a user starts it."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self._folder, self._settings = folder, dict(settings)
        self.lines: list[str] = []
        self.away = False  # killed, and not back yet
        self.kills = 0
        self._start()

    def _start(self) -> None:
        self._ready = threading.Event()
        self.started = time.monotonic()
        # A user's Python keeps what it has compiled: without that a start takes three times as long.
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from hybrid_scheduler.cli.main import run; run()", "serve"],
            cwd=self._folder,
            env={**inherited, **USUAL, "DATA_DIR": str(self._folder), **self._settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self.lines.append(line)
            if "watch it at" in line:
                self._ready.set()
        self._ready.set()

    @property
    def port(self) -> int:
        """Where it listens, once it does."""
        self._ready.wait(120)
        found = re.search(r"watch it at \S+:(\d+)", "".join(self.lines))
        require(found is not None, f"the server did not start: {''.join(self.lines)[-500:]}")
        return int(found[1]) if found else 0

    def resident(self) -> int:
        """Return the bytes that the server and its children hold; 0 if it is gone."""
        try:
            server = psutil.Process(self._process.pid)
            return sum(each.memory_info().rss for each in (server, *server.children(recursive=True)))
        except psutil.NoSuchProcess:
            return 0

    def cpu_seconds(self) -> tuple[float, float]:
        """Return the seconds of a core that the server itself has taken, and the learners' processes."""
        server = psutil.Process(self._process.pid)
        own, *children = (each.cpu_times() for each in (server, *server.children(recursive=True)))
        return float(own.user + own.system), float(sum(each.user + each.system for each in children))

    def kill(self) -> None:
        """End it at once, as a lack of memory or a power failure does."""
        self.away = True
        self.kills += 1
        self._process.kill()
        self._process.wait()
        self._reader.join(10)
        if self._process.stdout:
            self._process.stdout.close()

    def start_again(self) -> None:
        """Start it where it was; it is `away` until the caller has seen its race go on."""
        self._settings["PORT"] = str(self.port)
        self.lines.clear()
        self._start()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10)
        if self._process.stdout:
            self._process.stdout.close()
