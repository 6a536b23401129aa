"""Ending tasks of an event loop for good."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

CANCEL_AGAIN = 5.0  # seconds; ending may take longer where a query that was cut off closes its connection


async def end_tasks(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have ended; what they raise is dropped.

    Those that go on are cancelled again: clients of servers lose a cancellation that meets the answer they wait for.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        ended, left = await asyncio.wait(left, timeout=CANCEL_AGAIN)
        for task in ended:
            if not task.cancelled():
                task.exception()
