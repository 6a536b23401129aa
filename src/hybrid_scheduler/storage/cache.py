"""The cache: short-lived values, messages between web workers and rate limits, in this process or in Redis."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache

from limits import RateLimitItem, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from hybrid_scheduler.errors import InputError

_MAX_QUEUED = 1000  # messages for a subscriber; one that is too slow misses the oldest


class Cache:
    """The cache of one process, with the interface of that in Redis; neither raises if a server cannot be reached."""

    def __init__(self, max_entries: int = 10_000) -> None:
        self._max_entries = max_entries
        self._values: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._queues: defaultdict[str, set[asyncio.Queue[bytes]]] = defaultdict(set)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    @property
    def is_shared(self) -> bool:
        """Whether other processes see the same values now."""
        return False

    async def get(self, key: str) -> bytes | None:
        """Return a value, None if it is missing or has expired."""
        ends, value = self._values.get(key, (0.0, b""))
        return value if time.monotonic() < ends else None

    async def set(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for `ttl` seconds; beyond the limit the oldest value is dropped."""
        self._values[key] = time.monotonic() + ttl, value
        self._values.move_to_end(key)
        if len(self._values) > self._max_entries:
            self._values.popitem(last=False)

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to all subscribers."""
        for queue in self._queues.get(channel, ()):
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(message)

    @asynccontextmanager
    async def subscribe(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive the messages of a channel: `async with cache.subscribe(c) as messages: async for m in messages`."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(_MAX_QUEUED)
        self._queues[channel].add(queue)

        async def iterate() -> AsyncIterator[bytes]:
            while True:
                yield await queue.get()

        try:
            yield iterate()
        finally:
            self._queues[channel].discard(queue)
            if not self._queues[channel]:
                del self._queues[channel]

    async def allow(self, key: str, rate: str) -> bool:
        """Count a request; return whether it is within the rate, such as '100/minute'."""
        return await self._limiter.hit(parse_rate(rate), key)

    async def ping(self) -> float | None:
        """Return how many seconds the server takes to answer: here there is none; None if it does not."""
        return 0.0

    async def close(self) -> None:
        """Close every connection, and drop all values."""
        self._values.clear()


async def open_cache(url: str | None) -> Cache:
    """Return the cache at an address such as redis://localhost:6379/0, or one in this process."""
    if not url:
        return Cache()
    try:
        from hybrid_scheduler.storage.redis_cache import RedisCache
    except ModuleNotFoundError:
        raise InputError("Redis needs its package: pip install 'hybrid-ml-scheduler[redis]'") from None
    cache = RedisCache(url)
    await cache.ping()  # warns now rather than at the first request
    return cache


@lru_cache(maxsize=64)
def parse_rate(rate: str) -> RateLimitItem:
    """Parse a rate such as '100/minute'."""
    try:
        return parse(rate)
    except ValueError:
        raise InputError(f"'{rate}' is no rate: write a number and a time, such as 100/minute") from None
