"""What goes wrong during a soak: network, PostgreSQL, Redis, the server itself, and clients that mean harm."""

from __future__ import annotations

import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count, cycle
from typing import TYPE_CHECKING

from benchmarks.soak.asking import PATIENCE, ask, ask_metrics, ask_status, wait_for_tasks

if TYPE_CHECKING:
    from benchmarks.soak.proxy import Proxy
    from benchmarks.soak.server import Server
    from services import Postgres, Redis

Trouble = Callable[[float], None]
HALF_OPEN, COLUMNS, SUBMITTED = 300, 20_000, 5  # connections, columns of a wide file, tasks before a kill
REFUSED = (400, 409, 422)
EXTREMES: dict[str, tuple[object, ...]] = {
    "max_queue": (2**70, -1, 0),
    "load": (1e-320, 1e308, 0),
    "rate": (1e-320, 1e308),
    "num_gpus": (10_000_000, -1),
    "pace": (1e300, 0),
    "schedulers": ([], ["hybrid_ml:n_estimators=-1"], ["eft"] * 60),
    "seed": (2**70,),
    "failed_gpus": ([63],),
    "preset": ("upload:../../x",),
}


class Troubles:
    """Makes one trouble after the other, from the thread that launched the servers: they would die with another."""

    def __init__(self, server: Server, proxy: Proxy, postgres: Postgres, redis: Redis) -> None:
        self._server, self._proxy, self._postgres, self._redis = server, proxy, postgres, redis
        self._numbers = count(1)
        self.made: Counter[str] = Counter()
        self.failures: list[str] = []  # answers to harmful requests that were not as they should be
        self.submitted: set[float] = set()  # sizes of the tasks that were answered 2xx
        self.rows_acknowledged = 0.0  # by servers that were killed

    def go_on(self, seconds: float, every: float, lasting: float, kills: int) -> None:
        """Kill the server, then make a trouble every so many seconds, each at least once; the last ones are quiet."""
        quiet, kinds = time.monotonic() + seconds, self._all()
        for _ in range(kills):
            self._make("server killed", self._kill, every, lasting)
        for name, trouble in cycle(kinds.items()):
            if kinds.keys() <= self.made.keys() and time.monotonic() + every + lasting > quiet - every:
                time.sleep(max(0.0, quiet - time.monotonic()))
                return
            self._make(name, trouble, every, lasting)

    def _make(self, name: str, trouble: Trouble, every: float, lasting: float) -> None:
        time.sleep(every)
        self.made[name] += 1
        trouble(lasting)

    def _all(self) -> dict[str, Trouble]:
        return {
            "connections cut": self._cut,
            "Redis killed": self._kill_redis,
            "database out of reach": self._close,
            "Redis hangs": self._hang_redis,
            "network silent": self._silence,
            "PostgreSQL restarted": self._restart,
            "half-open connections": self._hold_half_open,
            "wrong tokens": self._guess_tokens,
            "wide upload": self._upload_wide,
            "extreme commands": self._command_extremes,
        }

    def _expect(self, what: str, answer: tuple[int, bytes], *statuses: int) -> None:
        if answer[0] not in statuses:
            self.failures.append(f"{what}: {answer[0]} {answer[1][:200]!r}")

    def _kill(self, lasting: float) -> None:
        """Kill the server right after it has acknowledged tasks, and wait until its race goes on."""
        port = self._server.port
        for number in (next(self._numbers) for _ in range(SUBMITTED)):
            size = number / 1e6  # by which it is known again; no preset has tasks as small
            answer = ask(port, "POST", "/api/tasks", {"size": size, "compute_intensity": 0.5, "memory_required": 1.0})
            self._expect("a task", answer, 201)
            self.submitted |= {size} if answer[0] == 201 else set()
        before, run_id = ask_metrics(port), ask_status(port)["run_id"]
        self.rows_acknowledged += before["hms_recorder_rows_total"]
        self._server.kill()
        time.sleep(lasting)
        self._server.start_again()
        wait_for_tasks(self._server.port, int(before["hms_tasks_total"]), PATIENCE)
        self._server.away = False
        if (resumed := ask_status(port)["run_id"]) != run_id:
            self.failures.append(f"run {resumed} was started instead of resuming run {run_id}")

    def _hold_half_open(self, lasting: float) -> None:
        """Open connections that never send a whole request; health must answer meanwhile."""
        with ExitStack() as stack:
            for _ in range(HALF_OPEN):
                connection = stack.enter_context(socket.create_connection(("127.0.0.1", self._server.port), PATIENCE))
                with suppress(OSError):  # it may be closed by now
                    connection.sendall(b"GET /api/status HTTP/1.1\r\nHost: localhost\r\nX-")
            self._expect("health", ask(self._server.port, "GET", "/api/health"), 200)
            time.sleep(lasting)

    def _guess_tokens(self, lasting: float) -> None:
        """Send commands with wrong tokens; who has the right one is heard all the same."""
        end, port = time.monotonic() + lasting, self._server.port
        while time.monotonic() < end:
            guess = ask(port, "POST", "/api/simulation/stop", token=f"guess {next(self._numbers)}")
            self._expect("a wrong token", guess, 401, 429)
        self._expect("the right token", ask(port, "PATCH", "/api/simulation/settings", {"energy_weight": 0.0}), 200)

    def _upload_wide(self, lasting: float) -> None:
        """Upload a file with very many columns, and one with times beyond all measure."""
        names = ["size", "compute_intensity", "memory_required", *(f"c{number}" for number in range(COLUMNS))]
        wide = "\n".join([",".join(names), *[",".join(["1"] * len(names))] * 2]).encode()
        late = b"size,compute_intensity,memory_required,arrival_time\n1,0.5,1,0\n1,0.5,1,1e308\n"
        for name, content in (("wide.csv", wide), ("late.csv", late)):
            answer = ask(self._server.port, "POST", f"/api/workloads?name={name}", content=content)
            self._expect(name, answer, *REFUSED)

    def _command_extremes(self, lasting: float) -> None:
        """Send settings that no race can have; the race goes on with those that it has."""
        for name, value in ((name, value) for name, values in EXTREMES.items() for value in values):
            answer = ask(self._server.port, "PATCH", "/api/simulation/settings", {name: value})
            self._expect(f"{name} = {str(value)[:60]}", answer, *REFUSED)

    def _cut(self, lasting: float) -> None:
        self._proxy.cut()

    def _close(self, lasting: float) -> None:
        self._proxy.close()
        time.sleep(lasting)
        self._proxy.open()

    def _silence(self, lasting: float) -> None:
        self._proxy.silence()
        time.sleep(lasting)
        self._proxy.open()

    def _restart(self, lasting: float) -> None:
        self._postgres.stop()
        time.sleep(lasting)
        self._postgres.start()

    def _kill_redis(self, lasting: float) -> None:
        self._redis.stop(signal.SIGKILL)
        time.sleep(lasting)
        self._redis.start()

    def _hang_redis(self, lasting: float) -> None:
        self._redis.signal(signal.SIGSTOP)
        time.sleep(lasting)
        self._redis.signal(signal.SIGCONT)
