"""The cache in Redis, for several web workers; while Redis does not answer, the cache in this process is used."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
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
from hybrid_scheduler.storage.background import end_tasks
from hybrid_scheduler.storage.cache import Cache, parse_rate

T = TypeVar("T")
# One retry without delay: after a restart of Redis every pooled connection fails once. None after a time-out, which
# has delayed the request enough.
_RETRY = Retry(NoBackoff(), 1, supported_errors=(LostError,))
_PREFIX = "hms:"
_CONNECTION_ERRORS = (RedisError, OSError, TimeoutError)
_RETRY_SECONDS = 1.0  # for which Redis is skipped after it failed, so that no request waits for it


class RedisCache(Cache):
    """A cache that all processes with the same address share.

    What this process sets and publishes also goes to its own memory, which is used while Redis does not answer.
    """

    def __init__(self, url: str, retry_seconds: float = _RETRY_SECONDS, timeout: float = 1.0) -> None:
        super().__init__()
        try:
            self._pool = BlockingConnectionPool.from_url(
                url, socket_connect_timeout=timeout, socket_timeout=timeout, timeout=timeout, retry=_RETRY
            )
        except ValueError:  # not quoted: it may hold a password
            raise InputError("the address of Redis cannot be read: write redis://localhost:6379/0") from None
        self._redis = Redis(connection_pool=self._pool)
        storage = RedisStorage("async+redis://", implementation="redispy", connection_pool=self._pool)  # type: ignore[arg-type]  # the pool is passed on to redis, which takes it
        self._shared_limiter = SlidingWindowCounterRateLimiter(storage)
        self._listeners: dict[str, tuple[asyncio.Task[None], asyncio.Event]] = {}
        self._sender = uuid4().bytes  # prefix of every message: this process delivers its own itself
        self._retry_seconds = retry_seconds
        self._down_since: float | None = None
        self._skip_until = 0.0

    @property
    def is_shared(self) -> bool:
        """Whether Redis answered last time."""
        return self._down_since is None

    async def get(self, key: str) -> bytes | None:
        """Return a value, None if it is missing or has expired."""
        return await self._try_redis(lambda: self._redis.get(_PREFIX + key), partial(super().get, key))

    async def set(self, key: str, value: bytes, ttl: float) -> None:
        """Keep a value for `ttl` seconds."""
        await super().set(key, value, ttl)
        await self._try_redis(lambda: self._redis.set(_PREFIX + key, value, px=max(int(ttl * 1000), 1)), _nothing)

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to all subscribers, here and in other processes."""
        await super().publish(channel, message)
        await self._try_redis(lambda: self._redis.publish(_PREFIX + channel, self._sender + message), _nothing)

    @asynccontextmanager
    async def subscribe(self, channel: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Receive the messages of a channel, over one connection to Redis for all its subscribers here."""
        try:
            async with super().subscribe(channel) as messages:
                if channel not in self._listeners:
                    event = asyncio.Event()
                    self._listeners[channel] = asyncio.create_task(self._listen(channel, event)), event
                await self._listeners[channel][1].wait()
                yield messages
        finally:
            if channel not in self._queues and channel in self._listeners:  # the last subscriber has left
                task, _ = self._listeners.pop(channel)
                await end_tasks([task])

    async def allow(self, key: str, rate: str) -> bool:
        """Count a request; return whether it is within the rate."""
        item = parse_rate(rate)
        return await self._try_redis(lambda: self._shared_limiter.hit(item, key), partial(super().allow, key, rate))

    async def ping(self) -> float | None:
        """Return how many seconds Redis takes to answer, None if it does not."""
        begin = time.perf_counter()
        answered = await self._try_redis(lambda: self._redis.ping(), _nothing)
        return time.perf_counter() - begin if answered else None

    async def close(self) -> None:
        """Close every connection."""
        await self._redis.aclose()
        await self._pool.disconnect()

    async def _try_redis(self, remote: Callable[[], Awaitable[Any]], local: Callable[[], Awaitable[T]]) -> T:
        """Ask Redis, or this process if Redis does not answer or did not lately."""
        if time.monotonic() < self._skip_until:
            return await local()
        try:
            answer: T = await remote()
        except _CONNECTION_ERRORS as error:
            self._note_outage(error)
            return await local()
        if self._down_since is not None:
            logger.info(f"Redis is back after {time.monotonic() - self._down_since:.0f} s")
            self._down_since = None
        return answer

    def _note_outage(self, error: Exception) -> None:
        self._skip_until = time.monotonic() + self._retry_seconds
        if self._down_since is None:
            self._down_since = time.monotonic()
            logger.warning(f"Redis does not answer ({error}): this process goes on alone until it is back")

    async def _listen(self, channel: str, listening: asyncio.Event) -> None:
        """Deliver what other processes publish; subscribe again when Redis is back."""
        while True:
            try:
                await self._receive(channel, listening)
            except _CONNECTION_ERRORS as error:
                self._note_outage(error)
            listening.set()  # without Redis there are only this process's messages, which are delivered anyway
            await asyncio.sleep(self._retry_seconds)

    async def _receive(self, channel: str, listening: asyncio.Event) -> None:
        async with self._redis.pubsub() as pubsub:
            await pubsub.subscribe(_PREFIX + channel)
            while True:
                message: dict[str, Any] | None = await pubsub.get_message(timeout=None)
                if message is None or message["type"] == "subscribe":
                    listening.set()
                elif not message["data"].startswith(self._sender):
                    await super().publish(channel, message["data"][len(self._sender) :])


async def _nothing() -> Any:
    return None
