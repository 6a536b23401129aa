"""Web workers: processes that serve clients of one simulation, which runs in another process.

They share a cache (Redis). Frames are published on one channel, commands on a second, results on a third. Everything
is JSON, so that writing to the channels is not enough to run code in these processes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from typing import Any

import orjson
from loguru import logger
from pydantic import TypeAdapter

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.live.records import TaskRecord
from hybrid_scheduler.live.settings import Change
from hybrid_scheduler.live.snapshot import Analysis, Snapshot
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.server.feed import RecentTask
from hybrid_scheduler.server.problems import BusyError, ConflictError, http_status
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.server.websocket import is_update
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.cache import Cache
from hybrid_scheduler.storage.database import StorageError

FRAMES, COMMANDS, RESULTS = "frames", "commands", "results"  # channels
RACE_COMMANDS = ("start", "resume_run", "stop", "pause", "resume", "step", "change", "submit")
COMMAND_NAMES = (*RACE_COMMANDS, "submit_experiment", "cancel_experiment")
QUERY_NAMES = ("find_task",)  # change nothing, so that no frame has to show them
COMMAND_SECONDS, QUERY_SECONDS, FRAME_SECONDS = 30.0, 10.0, 1.0  # timeouts; without a race no frame follows

# Decode JSON; null becomes NaN again where a number may be NaN.
SNAPSHOT, ANALYSIS = TypeAdapter(Snapshot), TypeAdapter(Analysis)
RECORD, RECENT_TASK = TypeAdapter(TaskRecord), TypeAdapter(RecentTask)
EXPLANATIONS = TypeAdapter(dict[str, Explanation])


def serve_web_workers(manager: RaceManager) -> None:
    """Publish a manager's frames for web workers, and execute their commands."""
    packets: asyncio.Queue[bytes] = asyncio.Queue()
    manager.hub.forward = packets.put_nowait
    manager.spawn(_publish_frames(manager.cache, packets), "frames for web workers")
    manager.spawn(_execute_commands(manager), "commands of web workers")


async def _publish_frames(cache: Cache, packets: asyncio.Queue[bytes]) -> None:
    while True:
        await cache.publish(FRAMES, await packets.get())


async def _execute_commands(manager: RaceManager) -> None:
    async with manager.cache.subscribe(COMMANDS) as commands:
        async for command in commands:
            await manager.cache.publish(RESULTS, await _execute(manager, **orjson.loads(command)))


async def _execute(manager: RaceManager, id: str, name: str, values: list[Any]) -> bytes:  # noqa: A002  # as in JSON
    try:
        if name not in (*COMMAND_NAMES, *QUERY_NAMES):
            raise ConflictError(f"'{name}' is no command: known are {', '.join((*COMMAND_NAMES, *QUERY_NAMES))}")
        arguments = [Task(**value) if name == "submit" else value for value in values]
        result = await getattr(manager, name)(*arguments)
    except SchedulerError as error:
        return encode_json({"id": id, "error": str(error), "status": http_status(error)})
    if name in COMMAND_NAMES:
        await manager.send_frame()  # the worker waits for it, so that it responds with the new state
    return encode_json({"id": id, "result": result, "stream": manager.hub.stream, "seq": manager.hub.seq})


class RemoteRaceManager(RaceManager):
    """Shows the frames that come over the cache and forwards commands."""

    def __init__(self, settings: AppSettings) -> None:
        super().__init__(settings)
        self._pending: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._frame: dict[str, Any] = {}
        self._frame_snapshot: Snapshot | None = None
        self._last_analysis: Analysis | None = None

    async def open(self) -> None:
        """Connect, and listen for frames."""
        await self.connect()
        listening = asyncio.Event()
        self.spawn(self._receive_frames(listening), "frames of the simulation")
        self.spawn(self._receive_results(), "results of commands")
        await listening.wait()

    async def close(self) -> None:
        """Disconnect."""
        await self.disconnect()

    async def _receive_frames(self, listening: asyncio.Event) -> None:
        async with self.cache.subscribe(FRAMES) as packets:
            listening.set()
            async for packet in packets:
                message = self.hub.relay(packet)
                if is_update(message):
                    self._use_frame(orjson.loads(message))

    def _use_frame(self, frame: dict[str, Any]) -> None:
        self._frame, self._frame_snapshot = frame, None
        if frame["run_id"] != self.run_id:
            self.run_id, self._last_analysis = frame["run_id"], None
        if frame["analysis"]:
            self._last_analysis = ANALYSIS.validate_python(frame["analysis"])

    async def _receive_results(self) -> None:
        async with self.cache.subscribe(RESULTS) as messages:
            async for message in messages:
                result = orjson.loads(message)
                pending = self._pending.get(result["id"])
                if pending is not None and not pending.done():
                    pending.set_result(result)

    async def _forward(self, name: str, *values: Any, timeout: float | None = None) -> Any:
        """Send a command to the simulation's process; returns its result when the frame that shows it is here."""
        number = token_hex(8)
        self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            await self.cache.publish(COMMANDS, encode_json({"id": number, "name": name, "values": values}))
            async with asyncio.timeout((timeout or COMMAND_SECONDS) if self.cache.is_shared else 0.0):
                answer = await self._pending[number]
        except TimeoutError:
            raise BusyError(f"the process that runs the simulation did not answer to '{name}': check it") from None
        finally:
            del self._pending[number]
        if "error" in answer:
            raise _build_error(answer)
        with suppress(TimeoutError):
            async with asyncio.timeout(FRAME_SECONDS):
                while self.hub.stream != answer["stream"] or self.hub.seq < answer["seq"]:
                    await asyncio.sleep(0.002)
        return answer["result"]

    # --- the commands and state of `RaceManager` ---------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Return False: no simulation runs in this process."""
        return False

    async def start(self, values: Mapping[str, Any] | None = None, paused: bool = False) -> int:
        """Start a new run."""
        return int(await self._forward("start", dict(values or {}), paused))

    async def resume_run(self, run_id: int, paused: bool = False) -> int:
        """Continue a stored run."""
        return int(await self._forward("resume_run", run_id, paused))

    async def stop(self) -> None:
        """End the run."""
        await self._forward("stop")

    async def pause(self) -> None:
        """Pause between two blocks."""
        await self._forward("pause")

    async def resume(self) -> None:
        """Continue after a pause."""
        await self._forward("resume")

    async def step(self, tasks: int = 1) -> None:
        """Process so many tasks while paused."""
        await self._forward("step", tasks)

    async def change(self, values: Mapping[str, Any]) -> Change:
        """Change settings of the running simulation."""
        return Change(**await self._forward("change", dict(values)))

    async def submit(self, task: Task) -> tuple[TaskRecord, dict[str, Explanation]]:
        """Let a task arrive now."""
        record, explanations = await self._forward("submit", task)
        return RECORD.validate_python(record), EXPLANATIONS.validate_python(explanations)

    async def submit_experiment(self, values: dict[str, Any]) -> int:
        """Queue an experiment."""
        return int(await self._forward("submit_experiment", values))

    async def cancel_experiment(self, run_id: int) -> None:
        """Stop an experiment that is queued or running."""
        await self._forward("cancel_experiment", run_id)

    async def find_task(self, task_id: int) -> RecentTask | None:
        """Return a recent task and its explanations."""
        try:
            found = await self._forward("find_task", task_id, timeout=QUERY_SECONDS)
        except BusyError as error:  # the stored results can be shown without them
            logger.warning(f"task {task_id} is shown without explanations: {error}")
            return None
        return None if found is None else RECENT_TASK.validate_python(found)

    def snapshot(self) -> Snapshot | None:
        """Return the race as the last frame shows it."""
        if self._frame_snapshot is None and self._frame:
            latest = (self._frame["records"] or [None])[-1]
            self._frame_snapshot = SNAPSHOT.validate_python({**self._frame, "latest": latest})
        return self._frame_snapshot

    async def analysis(self) -> Analysis | None:
        """Return the slowly changing figures of the last frame that had them."""
        return self._last_analysis


def _build_error(answer: dict[str, Any]) -> SchedulerError:
    """Return an error with the same HTTP status as in the simulation's process."""
    kinds: dict[int, type[SchedulerError]] = {503: StorageError, 409: ConflictError}
    return kinds.get(answer["status"], InputError)(answer["error"])
