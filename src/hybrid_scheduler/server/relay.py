"""How web workers share one simulation: frames are published on one channel, commands come in over another."""

from __future__ import annotations

import asyncio
import types
import typing
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import orjson

from hybrid_scheduler.core.tasks import Task
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.server.encoding import to_bytes
from hybrid_scheduler.server.problems import ConflictError, status_of
from hybrid_scheduler.storage.cache import Cache

if TYPE_CHECKING:
    from hybrid_scheduler.server.race import Manager


FRAMES, ORDERS, ANSWERS = "frames", "orders", "answers"


EXPERIMENTS = ("ask_experiment", "cancel_experiment")


KNOWN = ("start", "resume_run", "stop", "pause", "resume", "step", "change", "submit", *EXPERIMENTS)


LOOKS = ("recall",)  # nothing is different after them, so no frame has to show it


def share(manager: Manager) -> None:
    """Let web workers see a manager's frames and give it orders."""
    packets: asyncio.Queue[bytes] = asyncio.Queue()
    manager.hub.forward = packets.put_nowait
    manager.spawn(_send_frames(manager.cache, packets), "frames for web workers")
    manager.spawn(_obey(manager), "orders of web workers")


async def _send_frames(cache: Cache, packets: asyncio.Queue[bytes]) -> None:
    while True:
        await cache.publish(FRAMES, await packets.get())


async def _obey(manager: Manager) -> None:
    """Carry out the orders that web workers send, one after the other."""
    async with manager.cache.subscribe(ORDERS) as orders:
        async for order in orders:
            await manager.cache.publish(ANSWERS, await _answer(manager, orjson.loads(order)))


async def _answer(manager: Manager, order: dict[str, Any]) -> bytes:
    try:
        if order["name"] not in (*KNOWN, *LOOKS):
            raise ConflictError(f"'{order['name']}' is no order: known are {', '.join((*KNOWN, *LOOKS))}")
        values = [Task(**value) if order["name"] == "submit" else value for value in order["values"]]
        result = await getattr(manager, order["name"])(*values)
    except SchedulerError as error:
        return to_bytes({"id": order["id"], "error": str(error), "status": status_of(error)})
    if order["name"] in KNOWN:
        # The worker waits for it before it answers, so that it knows what it is talking about.
        await manager.send_frame()
    seen = {"stream": manager.hub.stream, "seq": manager.hub.seq}
    return to_bytes({"id": order["id"], "result": result, **seen})


def revive(kind: Any, value: Any) -> Any:
    """Build what JSON was made of: dataclasses inside lists and dictionaries; a number that is null was NaN."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if value is None:
        return float("nan") if kind is float else None
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{each.name: revive(hints[each.name], value[each.name]) for each in fields(kind)})  # type: ignore[operator]  # kind is a dataclass, so it can be called
    if origin in (typing.Union, types.UnionType):
        return revive(_meant(inner, value), value)
    if origin is list or origin is tuple:
        return origin(revive(inner[0], each) for each in value)
    if origin is dict:
        return {key: revive(inner[1], each) for key, each in value.items()}
    return value


def _meant(kinds: tuple[Any, ...], value: Any) -> Any:
    """Return the type of a union that a value is of: dataclasses are told apart by their `kind`."""
    named = [each for each in kinds if hasattr(each, "kind")]
    return next((each for each in named if each.kind == value["kind"]), kinds[0]) if named else kinds[0]
