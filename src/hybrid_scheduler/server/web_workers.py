"""Web workers: processes that serve clients of one simulation, which runs in another process.

They share a cache (Redis). Frames are published on one channel, commands on a second, results on a third. Everything
is JSON, so that writing to the channels is not enough to run code in these processes.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from secrets import token_hex
from typing import Any

import orjson
from loguru import logger
from pydantic import TypeAdapter

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.live.settings import Change
from hybrid_scheduler.live.snapshot import Analysis, Snapshot, TaskRecord
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.server.feed import RecentTask
from hybrid_scheduler.server.problems import BusyError, ConflictError, http_status
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.database import StorageError

FRAMES, COMMANDS, RESULTS = "frames", "commands", "results"  # channels
RACE_COMMANDS = ("start", "resume_run", "stop", "pause", "resume", "step", "change", "submit")
COMMAND_NAMES = (*RACE_COMMANDS, "submit_experiment", "cancel_experiment")
QUERY_NAMES = ("find_task",)  # change nothing, so that no frame has to show them
COMMAND_SECONDS, QUERY_SECONDS, FRAME_SECONDS = 30.0, 10.0, 1.0  # timeouts; without a race no frame follows

# Decode JSON; null becomes NaN again where a number may be NaN.
SNAPSHOT, ANALYSIS = TypeAdapter(Snapshot), TypeAdapter(Analysis)
DECODERS: dict[str, TypeAdapter[Any]] = {
    "change": TypeAdapter(Change),
    "submit": TypeAdapter(tuple[TaskRecord, dict[str, Explanation]]),
    "find_task": TypeAdapter(RecentTask | None),
}


def serve_web_workers(manager: RaceManager) -> None:
    """Publish a manager's frames for web workers, and execute their commands."""
    packets: asyncio.Queue[bytes] = asyncio.Queue()

    async def publish_frames() -> None:
        while True:
            await manager.cache.publish(FRAMES, await packets.get())

    async def execute_commands() -> None:
        async with manager.cache.subscribe(COMMANDS) as commands:
            async for command in commands:
                await manager.cache.publish(RESULTS, await _execute(manager, orjson.loads(command)))

    manager.hub.forward = packets.put_nowait
    manager.supervisor.keep(publish_frames, "frames for web workers")
    manager.supervisor.keep(execute_commands, "commands of web workers")


async def _execute(manager: RaceManager, command: dict[str, Any]) -> bytes:
    number, name = command["id"], command["name"]
    try:
        result = await _run_command(manager, name, command)
    except SchedulerError as error:
        return encode_json({"id": number, "error": str(error), "status": http_status(error)})
    except Exception as error:  # noqa: BLE001  # the next command must be executed all the same
        logger.opt(exception=error).error(f"'{name}' of a web worker failed")
        return encode_json({"id": number, "error": f"'{name}' failed: see the log", "status": 409})
    return encode_json({"id": number, "result": result, "stream": manager.hub.stream, "seq": manager.hub.seq})


async def _run_command(manager: RaceManager, name: str, command: dict[str, Any]) -> Any:
    if name not in (*COMMAND_NAMES, *QUERY_NAMES):
        raise ConflictError(f"'{name}' is no command: known are {', '.join((*COMMAND_NAMES, *QUERY_NAMES))}")
    arguments = [Task(**value) if name == "submit" else value for value in command["values"]]
    result = await getattr(manager, name)(*arguments, **command.get("options", {}))
    if name in COMMAND_NAMES:
        await manager.send_frame()  # the worker waits for it, so that it responds with the new state
    return result


class RemoteRaceManager(RaceManager):
    """Shows the frames that come over the cache and forwards commands."""

    def __init__(self, settings: AppSettings) -> None:
        super().__init__(settings)
        self._pending: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._frame: dict[str, Any] = {}
        self._frame_snapshot: Snapshot | None = None
        self._last_analysis: Analysis | None = None
        for name in COMMAND_NAMES:  # the methods of `RaceManager`, executed there
            setattr(self, name, partial(self._forward, name))

    async def open(self) -> None:
        """Connect, and listen for frames."""
        await self.connect()
        listening = asyncio.Event()
        self.supervisor.keep(partial(self._receive_frames, listening), "frames of the simulation")
        self.supervisor.keep(self._receive_results, "results of commands")
        await listening.wait()

    async def close(self) -> None:
        """Disconnect."""
        await self.disconnect()

    async def _receive_frames(self, listening: asyncio.Event) -> None:
        async with self.cache.subscribe(FRAMES) as packets:
            listening.set()
            async for packet in packets:
                message = self.hub.relay(packet)
                if message["type"] != "simulation_update":
                    continue
                self._frame, self._frame_snapshot = message, None
                if self._frame["run_id"] != self.run_id:
                    self.run_id, self._last_analysis = self._frame["run_id"], None
                if self._frame["analysis"]:
                    self._last_analysis = ANALYSIS.validate_python(self._frame["analysis"])

    async def _receive_results(self) -> None:
        async with self.cache.subscribe(RESULTS) as messages:
            async for message in messages:
                result = orjson.loads(message)
                pending = self._pending.get(result["id"])
                if pending is not None and not pending.done():
                    pending.set_result(result)

    async def _forward(self, name: str, *values: Any, timeout: float | None = None, **options: Any) -> Any:
        """Send a command to the simulation's process; returns its result when the frame that shows it is here."""
        number = token_hex(8)
        self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            command = {"id": number, "name": name, "values": values, "options": options}
            await self.cache.publish(COMMANDS, encode_json(command))
            async with asyncio.timeout((timeout or COMMAND_SECONDS) if self.cache.is_shared else 0.0):
                answer = await self._pending[number]
        except TimeoutError:
            raise BusyError(f"the process that runs the simulation did not answer to '{name}': check it") from None
        finally:
            del self._pending[number]
        if "error" in answer:  # with the same HTTP status as in the simulation's process
            kinds: dict[int, type[SchedulerError]] = {503: StorageError, 409: ConflictError}
            raise kinds.get(answer["status"], InputError)(answer["error"])
        with suppress(TimeoutError):
            async with asyncio.timeout(FRAME_SECONDS):
                while self.hub.stream != answer["stream"] or self.hub.seq < answer["seq"]:
                    await asyncio.sleep(0.002)
        return DECODERS[name].validate_python(answer["result"]) if name in DECODERS else answer["result"]

    @property
    def active(self) -> bool:
        """Return False: no simulation runs in this process."""
        return False

    async def find_task(self, task_id: int) -> RecentTask | None:
        """Return a recent task and its explanations."""
        try:
            found: RecentTask | None = await self._forward("find_task", task_id, timeout=QUERY_SECONDS)
        except BusyError as error:  # the stored results can be shown without them
            logger.warning(f"task {task_id} is shown without explanations: {error}")
            return None
        return found

    def snapshot(self) -> Snapshot | None:
        """Return the race as the last frame shows it."""
        if self._frame_snapshot is None and self._frame:
            latest = (self._frame["records"] or [None])[-1]
            self._frame_snapshot = SNAPSHOT.validate_python({**self._frame, "latest": latest})
        return self._frame_snapshot

    async def analysis(self) -> Analysis | None:
        """Return the slowly changing figures of the last frame that had them."""
        return self._last_analysis
