"""The cache: short-lived values, messages between web workers, rate limits; in this process or in Redis."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import lru_cache
from typing import Protocol

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from hybrid_scheduler.errors import InputError

Subscription = AbstractAsyncContextManager[AsyncIterator[bytes]]
_SLOWEST = 1000  # messages that may wait for a subscriber; a slower one misses the oldest
_ENTRIES = 10_000


class Cache(Protocol):
    """What both caches can do; neither ever raises because a server is away."""

    @property
    def shared(self) -> bool:
        """Whether other processes see the same values at the moment."""

    async def get(self, key: str) -> bytes | None:
        """Return a value, None if there is none or it is too old."""

    async def set(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for `ttl` seconds."""

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to all who subscribed."""

    def subscribe(self, channel: str) -> Subscription:
        """Receive the messages of a channel: `async with cache.subscribe(c) as messages: async for m in messages`."""

    async def allow(self, key: str, rate: str) -> bool:
        """Count one more and say whether that is within the rate, such as '100/minute'."""

    async def ping(self) -> float | None:
        """Return how many seconds the server takes to answer, None if it is away."""

    async def close(self) -> None:
        """Close every connection."""


async def open_cache(url: str | None) -> Cache:
    """Return the cache at an address such as redis://localhost:6379/0, or one in this process."""
    if not url:
        return MemoryCache()
    try:
        from hybrid_scheduler.storage.redis_cache import RedisCache
    except ModuleNotFoundError:
        raise InputError("Redis needs its package: pip install 'hybrid-ml-scheduler[redis]'") from None
    cache = RedisCache(url)
    await cache.ping()  # warns now rather than at the first request
    return cache


class MemoryCache:
    """A cache for one process."""

    shared = False

    def __init__(self, entries: int = _ENTRIES) -> None:
        self._entries = entries
        self._values: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._queues: defaultdict[str, set[asyncio.Queue[bytes]]] = defaultdict(set)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def get(self, key: str) -> bytes | None:
        """Return a value, None if there is none or it is too old."""
        ends, value = self._values.get(key, (0.0, b""))
        return value if time.monotonic() < ends else None

    async def set(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for `ttl` seconds; the value set longest ago makes room."""
        self._values[key] = time.monotonic() + ttl, value
        self._values.move_to_end(key)
        if len(self._values) > self._entries:
            self._values.popitem(last=False)

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to all who subscribed."""
        for queue in self._queues.get(channel, ()):
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(message)

    @asynccontextmanager
    async def subscribe(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive the messages of a channel."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(_SLOWEST)
        self._queues[channel].add(queue)
        try:
            yield _drained(queue)
        finally:
            self._queues[channel].discard(queue)
            if not self._queues[channel]:
                del self._queues[channel]

    async def allow(self, key: str, rate: str) -> bool:
        """Count one more and say whether that is within the rate."""
        return await self._limiter.hit(limit(rate), key)

    async def ping(self) -> float | None:
        """Return 0: there is no server to ask."""
        return 0.0

    async def close(self) -> None:
        """Forget everything."""
        self._values.clear()


async def _drained(queue: asyncio.Queue[bytes]) -> AsyncIterator[bytes]:
    """Return what comes into a queue, for ever."""
    while True:
        yield await queue.get()


@lru_cache(maxsize=64)
def limit(rate: str) -> RateLimitItem:
    """Read a rate such as '100/minute'."""
    try:
        return parse(rate)
    except ValueError:
        raise InputError(f"'{rate}' is no rate: write a number and a time, such as 100/minute") from None
