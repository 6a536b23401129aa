"""Many clients on /ws in a process of their own: which messages came, how late, and what was lost."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field

import numpy as np
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

_HEAD = re.compile(r'\{"type":"(\w+)","seq":(\d+),"time":([\d.]+)')
_AT_ONCE = 20  # clients that may connect at the same time
AGAIN = 0.2  # seconds until a client that was cut off comes back


@dataclass
class Watcher:
    """One client: it comes back with its cursor if it is cut off, and counts what is missing."""

    stream: str = ""
    last: int = 0
    fresh: bool = True  # nothing of this stream has come yet
    received: int = 0
    lost: int = 0
    skipped: int = 0
    resets: int = 0
    reconnects: int = 0
    restarts: int = 0  # of the server, which counts from the beginning then
    late: list[float] = field(default_factory=list)

    def see(self, message: str, now: float) -> None:
        """Take a message."""
        found = _HEAD.match(message)
        if found and found[1] not in ("hello", "reset"):
            number = int(found[2])
            self.lost += max(0, number - self.last - 1) if self.last else 0
            self.received += number > self.last
            self.fresh = False
            if self.received % 8 == 0:  # enough of them, and the lists stay small
                self.late.append(now - float(found[3]))
            self.last = max(self.last, number)
        elif message.startswith('{"type":"skipped"'):
            self.skipped += int(json.loads(message)["count"])
        elif message.startswith('{"type":"hello"'):
            hello = json.loads(message)
            self.greet(str(hello["stream"]), int(hello["seq"]))
        elif message.startswith('{"type":"reset"'):
            self.resets += not self.fresh

    def greet(self, stream: str, seq: int) -> None:
        """Begin to count at the number of the newest message, again if the server was started again."""
        if stream != self.stream:
            self.restarts += bool(self.stream)
            self.stream, self.last, self.fresh = stream, seq, True


async def watch_all(port: int, count: int) -> dict[str, float]:
    """Watch with many clients until the input ends; return what they saw."""
    watchers, room, joined = (
        [Watcher() for _ in range(count)],
        asyncio.Semaphore(_AT_ONCE),
        asyncio.Barrier(count + 1),
    )
    tasks = [asyncio.create_task(_watch(port, each, room, joined)) for each in watchers]
    await joined.wait()
    print("all", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return summary(watchers)


def summary(watchers: list[Watcher]) -> dict[str, float]:
    """Add the clients up."""
    late = (
        np.concatenate([np.array(each.late) for each in watchers]) if any(each.late for each in watchers) else [0.0]
    )
    names = ("received", "lost", "skipped", "resets", "reconnects", "restarts")
    counts: dict[str, float] = {name: sum(getattr(each, name) for each in watchers) for name in names}
    ends = {"fewest": min(each.received for each in watchers), "clients": len(watchers)}
    return counts | ends | {"p50": float(np.quantile(late, 0.5)), "p99": float(np.quantile(late, 0.99))}


async def _watch(port: int, watcher: Watcher, room: asyncio.Semaphore, joined: asyncio.Barrier) -> None:
    waiting: asyncio.Task[int] | None = None
    while True:
        cursor = f"?cursor={watcher.last}&stream={watcher.stream}" if watcher.last else ""
        try:
            async with room:
                socket = await connect(
                    f"ws://127.0.0.1:{port}/ws{cursor}",
                    compression=None,
                    max_size=None,
                    ping_interval=None,
                    open_timeout=60,
                )
        except (OSError, InvalidHandshake, EOFError):  # it is away, and tried again
            await asyncio.sleep(AGAIN)
            continue
        waiting = waiting or asyncio.create_task(joined.wait())
        try:
            async with socket:
                async for message in socket:
                    watcher.see(str(message), time.time())
        except (ConnectionClosed, OSError):
            pass  # counted below, and tried again
        watcher.reconnects += 1
        await asyncio.sleep(AGAIN)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(watch_all(int(sys.argv[1]), int(sys.argv[2])))))
