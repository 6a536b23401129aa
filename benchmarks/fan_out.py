"""Five hundred clients on /ws: nobody misses a frame, and REST stays quick.

The server, the clients and the one who asks REST are processes of their own.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
from websockets.asyncio.client import connect

from benchmarks.asking import latencies, wait_for
from benchmarks.rows import Row, require
from benchmarks.server_process import served

CLIENTS, SECONDS, IDLE_SECONDS = 500, 60.0, 15.0
FRAMES_A_SECOND = 2.0
GAP = 0.01  # seconds between two questions to REST
ALLOWED = 5.0
_NUMBER = re.compile(r'"type":"(\w+)","seq":(\d+)')


def websocket_fan_out(clients: int = CLIENTS, seconds: float = SECONDS) -> list[Row]:
    """Measure frames delivered against frames sent, and REST's p99 under load against idle."""
    with served() as port:
        wait_for(port, "/api/comparison")
        idle = _p99(port, IDLE_SECONDS)
        command = [sys.executable, "-m", __name__, str(port), str(clients), str(seconds)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
            require(watching.stdout is not None and watching.stdout.readline().strip() == "all", "not all connected")
            loaded = _p99(port, seconds)
            report = json.loads(watching.communicate()[0])
    require(report["skipped"] == 0, f"{report['skipped']} frames were skipped")
    return [
        Row("ws_frames_delivered", report["received"], report["sent"], "frames", target=1.0),
        Row("ws_frames_a_second", report["rate"], FRAMES_A_SECOND, "Hz", target=0.9),
        Row("ws_rest_p99", 1e3 * loaded, 1e3 * idle, "ms", target=ALLOWED, at_most=True),
    ]


def _p99(port: int, seconds: float) -> float:
    return float(np.quantile(latencies(port, "/api/comparison", seconds, GAP), 0.99))


# --- the clients' process ----------------------------------------------------------------------------------------


@dataclass
class Watcher:
    """A healthy client: it reads whatever comes, and notes the numbers."""

    numbers: list[int]
    updates: int = 0
    skipped: int = 0

    def see(self, message: str) -> None:
        """Take a message."""
        if message.startswith('{"type":"skipped"'):
            self.skipped += json.loads(message)["count"]
        elif found := _NUMBER.match(message, 1):
            self.numbers.append(int(found[2]))
            self.updates += found[1] == "simulation_update"


async def watch_all(port: int, count: int, seconds: float) -> dict[str, float]:
    """Watch with many clients; return what they saw between the last to join and the first to leave."""
    watchers, room, joined = [Watcher([]) for _ in range(count)], asyncio.Semaphore(50), asyncio.Barrier(count + 1)
    tasks = [asyncio.create_task(_watch(port, each, room, joined)) for each in watchers]
    await joined.wait()
    print("all", flush=True)
    first = max(each.numbers[-1] for each in watchers if each.numbers)
    updates = watchers[0].updates
    await asyncio.sleep(seconds)
    last = min(each.numbers[-1] for each in watchers)
    rate = (watchers[0].updates - updates) / seconds
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    received = sum(len({n for n in each.numbers if first < n <= last}) for each in watchers)
    skipped = sum(each.skipped for each in watchers)
    return {"received": received, "sent": count * (last - first), "skipped": skipped, "rate": rate}


async def _watch(port: int, watcher: Watcher, room: asyncio.Semaphore, joined: asyncio.Barrier) -> None:
    async with room:
        socket = await connect(
            f"ws://127.0.0.1:{port}/ws", compression=None, max_size=None, ping_interval=None, open_timeout=60
        )
        watcher.see(str(await socket.recv()))
        watcher.see(str(await socket.recv()))
    waiting = asyncio.create_task(joined.wait())
    try:
        async for message in socket:
            watcher.see(str(message))
    finally:
        waiting.cancel()
        await socket.close()


if __name__ == "__main__":
    print(json.dumps(asyncio.run(watch_all(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))))
