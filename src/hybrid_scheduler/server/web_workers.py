"""How processes share one simulation: frames go out over one channel, orders come in over a second one.

The third carries the answers. Everything is JSON, so nobody who can write to the channels can run code here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import orjson
from loguru import logger

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import InputError, SchedulerError
from hybrid_scheduler.live.settings import Change
from hybrid_scheduler.live.snapshot import Analysis, Snapshot, TaskRecord
from hybrid_scheduler.schedulers.explain import Explanation
from hybrid_scheduler.server.encoding import to_bytes
from hybrid_scheduler.server.feed import Recalled
from hybrid_scheduler.server.problems import BusyError, ConflictError
from hybrid_scheduler.server.race import Manager
from hybrid_scheduler.server.relay import ANSWERS, FRAMES, ORDERS, revive
from hybrid_scheduler.server.websocket import is_update
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.database import StorageError

if TYPE_CHECKING:
    from hybrid_scheduler.server.race import Manager


ORDER_SECONDS, LOOK_SECONDS, CATCH_UP_SECONDS = 30.0, 2.0, 1.0


class RemoteManager(Manager):
    """Shows what comes over the cache and hands orders on."""

    def __init__(self, settings: AppSettings) -> None:
        super().__init__(settings)
        self._waiting: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._frame: dict[str, Any] = {}
        self._seen: Snapshot | None = None
        self._pictures: Analysis | None = None

    async def open(self) -> None:
        """Connect, and listen for frames."""
        await self.connect()
        listening = asyncio.Event()
        self.spawn(self._listen(listening), "frames of the simulation")
        self.spawn(self._hear_answers(), "answers of the simulation")
        await listening.wait()

    async def close(self) -> None:
        """Disconnect."""
        await self.disconnect()

    async def _listen(self, listening: asyncio.Event) -> None:
        async with self.cache.subscribe(FRAMES) as packets:
            listening.set()
            async for packet in packets:
                message = self.hub.relay(packet)
                if is_update(message):
                    self._take(orjson.loads(message))

    def _take(self, frame: dict[str, Any]) -> None:
        self._frame, self._seen = frame, None
        if frame["run_id"] != self.run_id:
            self.run_id, self._pictures = frame["run_id"], None
        if frame["analysis"]:
            self._pictures = revive(Analysis, frame["analysis"])

    async def _hear_answers(self) -> None:
        async with self.cache.subscribe(ANSWERS) as answers:
            async for message in answers:
                answer = orjson.loads(message)
                waiting = self._waiting.get(answer["id"])
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)

    async def _ask(self, name: str, *values: Any, patience: float | None = None) -> Any:
        number = token_hex(8)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self.cache.publish(ORDERS, to_bytes({"id": number, "name": name, "values": values}))
            async with asyncio.timeout((patience or ORDER_SECONDS) if self.cache.shared else 0.0):
                answer = await self._waiting[number]
        except TimeoutError:
            raise BusyError(f"the process that runs the simulation did not answer to '{name}': check it") from None
        finally:
            del self._waiting[number]
        if "error" in answer:
            raise _error(answer)
        await self._catch_up(answer["stream"], answer["seq"])
        return answer["result"]

    async def _catch_up(self, stream: str, seq: int) -> None:
        """Wait, not for long, until the frame that shows the order carried out has come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_SECONDS):
                while self.hub.stream != stream or self.hub.seq < seq:
                    await asyncio.sleep(0.002)

    # --- the same orders and looks -----------------------------------------------------------------------------

    @property
    def active(self) -> bool:
        """Nothing runs in this process."""
        return False

    async def start(self, values: Mapping[str, Any] | None = None, paused: bool = False) -> int:
        """Start a new run over there."""
        return int(await self._ask("start", dict(values or {}), paused))

    async def resume_run(self, run_id: int, paused: bool = False) -> int:
        """Go on with a stored run over there."""
        return int(await self._ask("resume_run", run_id, paused))

    async def stop(self) -> None:
        """End the run over there."""
        await self._ask("stop")

    async def pause(self) -> None:
        """Halt it."""
        await self._ask("pause")

    async def resume(self) -> None:
        """Let it go on."""
        await self._ask("resume")

    async def step(self, tasks: int = 1) -> None:
        """Let so many tasks pass."""
        await self._ask("step", tasks)

    async def change(self, values: Mapping[str, Any]) -> Change:
        """Change its settings."""
        return Change(**await self._ask("change", dict(values)))

    async def ask_experiment(self, values: dict[str, Any]) -> int:
        """Hand an experiment on."""
        return int(await self._ask("ask_experiment", values))

    async def cancel_experiment(self, run_id: int) -> None:
        """Stop an experiment over there."""
        await self._ask("cancel_experiment", run_id)

    async def submit(self, task: Task) -> tuple[TaskRecord, dict[str, Explanation]]:
        """Hand a task on."""
        record, reasons = await self._ask("submit", task)
        return revive(TaskRecord, record), {name: revive(Explanation, each) for name, each in reasons.items()}

    async def recall(self, task_id: int) -> Recalled | None:
        """Ask over there what is remembered of a task."""
        try:
            found = await self._ask("recall", task_id, patience=LOOK_SECONDS)
        except BusyError as error:  # what is stored can be shown without it
            logger.warning(f"task {task_id} is shown without its reasons: {error}")
            return None
        return None if found is None else revive(Recalled, found)

    def snapshot(self) -> Snapshot | None:
        """Return the race as the last frame shows it."""
        if self._seen is None and self._frame:
            self._seen = revive(Snapshot, {**self._frame, "latest": (self._frame["records"] or [None])[-1]})
        return self._seen

    async def analysis(self) -> Analysis | None:
        """Return the pictures that came last."""
        return self._pictures


def _error(answer: dict[str, Any]) -> SchedulerError:
    """Return an error that gets the same status here as over there."""
    kinds: dict[int, type[SchedulerError]] = {503: StorageError, 409: ConflictError}
    return kinds.get(answer["status"], InputError)(answer["error"])
