"""The two caches do the same; Redis may go away and come back without anybody noticing much."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest
import pytest_asyncio
from loguru import logger

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.storage.cache import Cache, open_cache
from hybrid_scheduler.storage.redis_cache import RedisCache
from services import Redis

pytestmark = pytest.mark.asyncio
PATIENT = 120.0  # seconds: on a busy machine Redis may answer late


@pytest_asyncio.fixture(params=["memory", "redis"])
async def cache(request: pytest.FixtureRequest) -> AsyncIterator[Cache]:
    redis = request.param == "redis"
    cache = RedisCache(request.getfixturevalue("redis_url"), timeout=PATIENT) if redis else await open_cache(None)
    yield cache
    await cache.close()


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    lines = list[str]()
    handler = logger.add(lambda line: lines.append(str(line)), format="{level} {message}")
    yield lines
    logger.remove(handler)


# --- with and without Redis ------------------------------------------------------------------------------------


async def test_a_value_is_kept_until_it_is_too_old(cache: Cache) -> None:
    assert await cache.get("stats") is None
    await cache.set("stats", b"\x00\xff", ttl=60)
    assert await cache.get("stats") == b"\x00\xff"
    await cache.set("stats", b"short", ttl=0.01)
    while await cache.get("stats") is not None:
        await asyncio.sleep(0.01)


async def test_every_subscriber_gets_every_message_once_and_in_order(cache: Cache) -> None:
    async with cache.subscribe("frames") as one, cache.subscribe("frames") as two, cache.subscribe("other") as other:
        for number in range(5):
            await cache.publish("frames", b"%d" % number)
        await cache.publish("other", b"x")
        for messages in (one, two):
            assert [await anext(messages) for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]
        assert await anext(other) == b"x"


async def test_who_left_gets_no_more_and_disturbs_nobody(cache: Cache) -> None:
    async with cache.subscribe("frames"):
        pass
    await cache.publish("frames", b"1")


async def test_a_slow_subscriber_misses_the_oldest_messages(cache: Cache) -> None:
    async with cache.subscribe("frames") as messages:
        for number in range(1005):
            await cache.publish("frames", b"%d" % number)
        assert await anext(messages) == b"5"


async def test_a_rate_is_kept_to_exactly_under_concurrent_requests(cache: Cache) -> None:
    allowed = await asyncio.gather(*(cache.allow("10.0.0.1", "50/day") for _ in range(200)))
    assert sum(allowed) == 50
    assert await cache.allow("10.0.0.2", "50/day")


async def test_a_rate_that_cannot_be_read_is_answered_with_an_example(cache: Cache) -> None:
    with pytest.raises(InputError, match=r"'often' is no rate: write .* 100/minute"):
        await cache.allow("10.0.0.1", "often")


async def test_a_cache_answers_a_ping(cache: Cache) -> None:
    latency = await cache.ping()
    assert latency is not None
    assert latency >= 0


# --- in this process -------------------------------------------------------------------------------------------


async def test_the_cache_in_memory_does_not_grow_without_end() -> None:
    cache = Cache(max_entries=3)
    for number in range(5):
        await cache.set(str(number), b"x", ttl=60)
    assert [await cache.get(str(number)) for number in range(5)] == [None, None, b"x", b"x", b"x"]


async def test_an_address_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(InputError, match="write redis://localhost") as refusal:
        await open_cache("http://:secret@localhost")
    assert "secret" not in str(refusal.value)


async def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("redis", "redis.asyncio"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "hybrid_scheduler.storage.redis_cache")
    with pytest.raises(InputError, match=r"pip install 'hybrid-ml-scheduler\[redis\]'"):
        await open_cache("redis://localhost")


# --- several processes -----------------------------------------------------------------------------------------


async def test_processes_share_values_rates_and_messages(redis_url: str) -> None:
    one, two = RedisCache(redis_url, timeout=PATIENT), RedisCache(redis_url, timeout=PATIENT)
    await one.set("stats", b"1", ttl=60)
    assert await two.get("stats") == b"1"
    assert [await cache.allow("me", "2/day") for cache in (one, two, one)] == [True, True, False]
    async with two.subscribe("frames") as messages:
        await one.publish("frames", b"hello")
        assert await anext(messages) == b"hello"
    for cache in (one, two):
        await cache.close()


async def test_a_hundred_subscribers_need_one_connection(redis_server: Redis, redis_url: str) -> None:
    cache, other = RedisCache(redis_url, timeout=PATIENT), RedisCache(redis_url, timeout=PATIENT)
    async with AsyncExitStack() as stack:
        subscribers = [await stack.enter_async_context(cache.subscribe("frames")) for _ in range(100)]
        assert redis_server.ask("PUBSUB NUMSUB hms:frames").endswith(b":1\r\n")
        await other.publish("frames", b"hello")
        assert [await anext(messages) for messages in subscribers] == [b"hello"] * 100
    while not redis_server.ask("PUBSUB NUMSUB hms:frames").endswith(b":0\r\n"):
        await asyncio.sleep(0.01)
    for each in (cache, other):
        await each.close()


async def test_redis_goes_away_with_one_warning_and_comes_back_by_itself(
    redis_server: Redis, log_lines: list[str]
) -> None:
    cache, other = (RedisCache(redis_server.url, retry_seconds=0.05, timeout=PATIENT) for _ in range(2))
    async with cache.subscribe("frames") as messages:
        await cache.set("stats", b"kept", ttl=60)
        redis_server.stop()
        for _ in range(3):
            assert await cache.get("stats") == b"kept"
            assert await cache.allow("me", "100/day")
            await cache.publish("frames", b"alone")
            assert await anext(messages) == b"alone"
            await asyncio.sleep(0.06)
        assert (cache.is_shared, await cache.ping()) == (False, None)
        redis_server.start()
        while not (cache.is_shared and other.is_shared):
            await asyncio.gather(cache.ping(), other.ping())
            await asyncio.sleep(0.01)
        while redis_server.ask("PUBSUB NUMSUB hms:frames").endswith(b":0\r\n"):
            await asyncio.sleep(0.01)
        await other.publish("frames", b"together")
        assert await anext(messages) == b"together"
    await cache.close()
    await other.close()
    assert [line.split()[0] for line in log_lines] == ["WARNING", "INFO"]
    assert "this process goes on alone until it is back" in log_lines[0]


async def test_a_redis_that_hangs_holds_up_one_request_and_no_more(redis_server: Redis, log_lines: list[str]) -> None:
    cache = RedisCache(redis_server.url, retry_seconds=60, timeout=0.1)
    await cache.set("stats", b"kept", ttl=60)
    redis_server.signal(signal.SIGSTOP)
    try:
        assert [await cache.get("stats") for _ in range(100)] == [b"kept"] * 100
        assert await cache.allow("me", "100/day")
    finally:
        redis_server.signal(signal.SIGCONT)
    await cache.close()
    assert len(log_lines) == 1


async def test_a_redis_that_is_away_from_the_start_is_no_error(log_lines: list[str]) -> None:
    cache = await open_cache("redis://127.0.0.1:1/0")
    await cache.set("stats", b"1", ttl=60)
    assert await cache.get("stats") == b"1"
    async with cache.subscribe("frames") as messages:
        await cache.publish("frames", b"1")
        assert await anext(messages) == b"1"
    await cache.close()
    assert len(log_lines) == 1
