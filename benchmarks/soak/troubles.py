"""What goes wrong during a soak: the network to PostgreSQL, PostgreSQL itself, Redis; each comes back by itself."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.soak.proxy import Proxy
    from services import Postgres, Redis

Trouble = Callable[[float], None]


class Troubles:
    """Makes one trouble after the other, from the thread that launched the servers: they would die with another."""

    def __init__(self, proxy: Proxy, postgres: Postgres, redis: Redis) -> None:
        self._proxy, self._postgres, self._redis = proxy, postgres, redis
        self.made: Counter[str] = Counter()

    def go_on(self, seconds: float, every: float, lasting: float) -> None:
        """Make a trouble every so many seconds, each at least once; the last seconds are quiet."""
        quiet, kinds = time.monotonic() + seconds, self._all()
        for name, trouble in cycle(kinds.items()):
            if len(self.made) == len(kinds) and time.monotonic() + every + lasting > quiet - every:
                time.sleep(max(0.0, quiet - time.monotonic()))
                return
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
        }

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
