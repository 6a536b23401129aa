"""Real PostgreSQL and Redis servers that all tests of a process share; every test gets an empty database."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
import pytest_asyncio

from services import Postgres, Redis

if TYPE_CHECKING:
    from hybrid_scheduler.storage.store import Store

T = TypeVar("T")
_numbers = itertools.count()
TEMPLATE = "hms_template"


def run_apart(work: Callable[[], Awaitable[T]]) -> T:
    """Run a coroutine to its end in a thread, so that the test's own event loop is left alone."""

    async def main() -> T:
        return await work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(main())).result()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL that runs as long as the tests; `hms_template` in it has all tables."""
    from hybrid_scheduler.storage.store import Store

    with Postgres() as server:

        async def make_template() -> None:
            await _execute(server, f"CREATE DATABASE {TEMPLATE}")
            await (await Store.open(server.url(TEMPLATE))).close()

        run_apart(make_template)
        yield server


async def _execute(server: Postgres, statement: str) -> None:
    import asyncpg

    connection: Any = await asyncpg.connect(server.url().replace("+asyncpg", ""))
    await connection.execute(statement)
    await connection.close()


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Redis]:
    """A Redis that runs as long as the tests."""
    with Redis() as server:
        yield server


@pytest.fixture
def redis_url(redis_server: Redis) -> str:
    """The address of an empty Redis."""
    redis_server.ask("FLUSHALL")
    return redis_server.url


def new_database(server: Postgres, template: str = "template1") -> str:
    """Make a database and return its address."""
    name = f"hms_{next(_numbers)}"
    run_apart(lambda: _execute(server, f"CREATE DATABASE {name} TEMPLATE {template}"))
    return server.url(name)


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """The address of a database with tables in PostgreSQL."""
    return new_database(postgres, TEMPLATE)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables, of either kind."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/hms.db"
    return new_database(request.getfixturevalue("postgres"))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database for one test, of either kind; PostgreSQL's has its tables already."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/hms.db"
    return str(request.getfixturevalue("postgres_url"))


@pytest_asyncio.fixture
async def store(url: str) -> AsyncIterator[Store]:
    """An open store, of either kind."""
    from hybrid_scheduler.storage.store import Store

    store = await Store.open(url, patience=120.0)
    yield store
    await store.close()


@pytest_asyncio.fixture
async def sqlite_store(tmp_path: Path) -> AsyncIterator[Store]:
    """An open store in a file; it does not wait long for a lock."""
    from hybrid_scheduler.storage.store import Store

    store = await Store.open(f"sqlite:///{tmp_path}/hms.db", patience=0.2)
    yield store
    await store.close()
