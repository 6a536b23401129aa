"""The cache in Redis, for several web workers; while Redis is away, the cache in this process stands in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import uuid4

from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from loguru import logger
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as LostError
from redis.exceptions import RedisError

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.storage.cache import MemoryCache, limit

T = TypeVar("T")
# At once and once: after a restart of Redis every pooled connection fails one time. Not after a time-out, which
# made the request wait enough already.
_RETRY = Retry(NoBackoff(), 1, supported_errors=(LostError,))
_PREFIX = "hms:"
_AWAY = (RedisError, OSError, TimeoutError)
_TRY_AGAIN = 1.0  # seconds for which Redis is not asked after it failed, so that no request waits for it


class RedisCache:
    """A cache that all processes with the same address share.

    What this process sets and publishes also goes into its own memory: should Redis go away, it is there.
    """

    def __init__(self, url: str, try_again: float = _TRY_AGAIN, patience: float = 1.0) -> None:
        try:
            self._pool = BlockingConnectionPool.from_url(
                url, socket_connect_timeout=patience, socket_timeout=patience, timeout=patience, retry=_RETRY
            )
        except ValueError:  # not quoted: it may hold a password
            raise InputError("the address of Redis cannot be read: write redis://localhost:6379/0") from None
        self._redis = Redis(connection_pool=self._pool)
        storage = RedisStorage("async+redis://", implementation="redispy", connection_pool=self._pool)  # type: ignore[arg-type]  # the pool is passed on to redis, which takes it
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._local = MemoryCache()
        self._ears: dict[str, Ear] = {}
        self._sender = uuid4().bytes  # leads every message: this process has its own already
        self._try_again = try_again
        self._away_since: float | None = None
        self._silent_until = 0.0

    @property
    def shared(self) -> bool:
        """Whether Redis answered last time."""
        return self._away_since is None

    async def get(self, key: str) -> bytes | None:
        """Return a value, None if there is none or it is too old."""
        return await self._ask(lambda: self._redis.get(_PREFIX + key), lambda: self._local.get(key))

    async def set(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for `ttl` seconds."""
        await self._local.set(key, value, ttl)
        await self._ask(lambda: self._redis.set(_PREFIX + key, value, px=max(int(ttl * 1000), 1)), _nothing)

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to all who subscribed, here and in other processes."""
        await self._local.publish(channel, message)
        await self._ask(lambda: self._redis.publish(_PREFIX + channel, self._sender + message), _nothing)

    @asynccontextmanager
    async def subscribe(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive the messages of a channel."""
        async with self._local.subscribe(channel) as messages, self._heard(channel):
            yield messages

    async def allow(self, key: str, rate: str) -> bool:
        """Count one more and say whether that is within the rate."""
        item = limit(rate)
        return await self._ask(lambda: self._limiter.hit(item, key), lambda: self._local.allow(key, rate))

    async def ping(self) -> float | None:
        """Return how many seconds Redis takes to answer, None if it is away."""
        begin = time.perf_counter()

        async def answer() -> float | None:
            await self._redis.ping()
            return time.perf_counter() - begin

        return await self._ask(answer, _nothing)

    async def close(self) -> None:
        """Close every connection."""
        await self._redis.aclose()
        await self._pool.disconnect()

    # --- Redis comes and goes --------------------------------------------------------------------------------

    async def _ask(self, remote: Callable[[], Awaitable[Any]], local: Callable[[], Awaitable[T]]) -> T:
        """Ask Redis, or this process if Redis does not answer or did not a moment ago."""
        if time.monotonic() < self._silent_until:
            return await local()
        try:
            answer: T = await remote()
        except _AWAY as error:
            self._lost(error)
            return await local()
        self._found()
        return answer

    def _lost(self, error: Exception) -> None:
        self._silent_until = time.monotonic() + self._try_again
        if self._away_since is None:
            self._away_since = time.monotonic()
            logger.warning(f"Redis does not answer ({error}): this process goes on alone until it is back")

    def _found(self) -> None:
        if self._away_since is not None:
            logger.info(f"Redis is back after {time.monotonic() - self._away_since:.0f} s")
            self._away_since = None

    @asynccontextmanager
    async def _heard(self, channel: str) -> AsyncIterator[None]:
        """Listen to a channel of Redis while anybody here does; one connection serves all of them."""
        ear = self._ears.get(channel)
        if ear is None:
            ear = self._ears[channel] = Ear()
            ear.task = asyncio.create_task(self._listen(channel, ear.listening))
        ear.users += 1
        try:
            await ear.listening.wait()
            yield
        finally:
            ear.users -= 1
            if not ear.users:
                del self._ears[channel]
                await ear.close()

    async def _listen(self, channel: str, listening: asyncio.Event) -> None:
        """Hand on what other processes publish; subscribe again whenever Redis comes back."""
        while True:
            try:
                await self._receive(channel, listening)
            except _AWAY as error:
                self._lost(error)
            listening.set()  # without Redis there are only the messages of this process, and they come already
            await asyncio.sleep(self._try_again)

    async def _receive(self, channel: str, listening: asyncio.Event) -> None:
        async with self._redis.pubsub() as pubsub:
            await pubsub.subscribe(_PREFIX + channel)
            while True:
                message: dict[str, Any] | None = await pubsub.get_message(timeout=None)
                if message is None or message["type"] == "subscribe":
                    listening.set()
                elif not message["data"].startswith(self._sender):
                    await self._local.publish(channel, message["data"][len(self._sender) :])


class Ear:
    """A task that listens to one channel, and how many want it to."""

    def __init__(self) -> None:
        self.users = 0
        self.listening = asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Stop listening."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])


async def _nothing() -> None:
    return None
