"""A claim says who runs the simulation of a database; it ends by itself unless it is renewed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import ColumnElement, exists, or_, select, text, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.storage.errors import ClaimedError
from hybrid_scheduler.storage.tables import claims, runs

_NAME = "simulation"


async def now(connection: AsyncConnection) -> datetime:
    """Return the database's time: servers on several machines need one clock, a file has one machine."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    moment: datetime = (await connection.execute(text("SELECT clock_timestamp()"))).scalar_one()
    return moment


async def claim(connection: AsyncConnection, owner: str, ttl: float) -> None:
    """Take or renew the claim, in one statement, so that of two servers one wins."""
    moment = await now(connection)
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    wanted = dialect.insert(claims).values(name=_NAME, owner=owner, expires_at=moment + timedelta(seconds=ttl))
    taken = await connection.execute(
        wanted.on_conflict_do_update(
            index_elements=[claims.c.name],
            set_={"owner": wanted.excluded.owner, "expires_at": wanted.excluded.expires_at},
            where=or_(claims.c.owner == owner, claims.c.expires_at <= moment),
        )
    )
    if not taken.rowcount:
        other = (await connection.execute(select(claims).where(claims.c.name == _NAME))).one()
        raise ClaimedError(other.owner, (other.expires_at - moment).total_seconds())
    await connection.execute(update(runs).where(_running(), runs.c.owner == owner).values(heartbeat_at=moment))


async def release(connection: AsyncConnection, owner: str) -> None:
    """Give the claim up; nothing happens if it is another's by now."""
    await connection.execute(claims.delete().where(claims.c.name == _NAME, claims.c.owner == owner))


async def mark_interrupted(connection: AsyncConnection) -> list[int]:
    """Mark live runs whose owner holds no claim any more; return their ids."""
    moment = await now(connection)
    alive = exists().where(claims.c.name == _NAME, claims.c.owner == runs.c.owner, claims.c.expires_at > moment)
    marked = await connection.execute(
        update(runs)
        .where(_running(), runs.c.kind == "live", ~alive)
        .values(status="interrupted", ended_at=runs.c.heartbeat_at)
        .returning(runs.c.id)
    )
    return sorted(marked.scalars())


def _running() -> ColumnElement[bool]:
    return runs.c.status == "running"
