"""Small help for those who give a simulation orders from the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hybrid_scheduler.engine.settings import Change, LiveSettings
from hybrid_scheduler.engine.simulation import ContinuousSimulation, Replay
from hybrid_scheduler.server.errors import BusyError
from hybrid_scheduler.server.feed import Feed
from hybrid_scheduler.server.recording import Recording
from hybrid_scheduler.storage.store import Run
from hybrid_scheduler.workload.library import Library

T = TypeVar("T")


async def ordered(order: Callable[[], T]) -> T:
    """Give the race an order; it is carried out between two blocks."""
    try:
        return await asyncio.to_thread(order)
    except TimeoutError:
        raise BusyError("the simulation did not get round to this order: try again") from None


def soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call something on the event loop, from any thread; a loop that has ended needs no calls."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def changes_of(rows: list[dict[str, Any]]) -> list[Change]:
    """Return the log of a run as its rows have it."""
    return [Change(each["at_task"], each["at_time"], each["change"]) for each in rows]


def replayed(
    run: Run, log: list[Change], recording: Recording, last: int | None, feed: Feed, library: Library
) -> ContinuousSimulation:
    """Play a run again up to its last stored task."""
    replay = Replay(LiveSettings(**run.settings), log, [recording, feed], library)
    recording.follow(replay.simulation)
    return replay.run(0 if last is None else last + 1)


def words(change: Mapping[str, Any]) -> str:
    """Write a change for people."""
    return ", ".join(f"{name} = {value}" for name, value in change.items())
