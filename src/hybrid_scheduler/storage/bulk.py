"""Stores many rows at once the way each database likes best: executemany on SQLite, COPY on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import bindparam, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_scheduler.storage.errors import RefusedError
from hybrid_scheduler.storage.rows import Batch, Record
from hybrid_scheduler.storage.tables import metadata, runs

COLUMNS = {
    table.name: tuple(column.name for column in table.columns if column.name != "id")
    for table in metadata.sorted_tables
}
"""The columns that rows of a batch fill, in their order; `id` is left to the database."""
_INSERT = {
    name: f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) ON CONFLICT DO NOTHING"  # noqa: S608  # names of our own tables and columns
    for name, columns in COLUMNS.items()
}
_MARK = (
    update(runs)
    .where(runs.c.id == bindparam("run"), runs.c.last_batch.is_distinct_from(bindparam("key")))
    .values(last_batch=bindparam("key"))
)


async def mark(connection: AsyncConnection, batch: Batch) -> bool:
    """Note the batch in its run, in the batch's own transaction; False if it was committed before."""
    done = await connection.execute(_MARK, {"run": batch.run_id, "key": batch.key})
    if done.rowcount:
        return True
    if (await connection.execute(select(runs.c.id).where(runs.c.id == batch.run_id))).first() is None:
        raise RefusedError(f"run {batch.run_id} is not in this database: begin a run first")
    return False


async def insert(connection: AsyncConnection, batch: Batch, there_already: bool = False) -> None:
    """Store all rows of a batch; rows whose key is stored already are left as they are.

    COPY cannot do that, so on PostgreSQL it fails with a broken unique constraint; `there_already` takes the
    slower way around.
    """
    for table, records in batch.records():
        if connection.dialect.name == "sqlite":
            await _executemany(connection, table, records)
        elif there_already:
            await _copy_new(connection, table, records)
        else:
            await _copy(connection, table, table, records)


async def _executemany(connection: AsyncConnection, table: str, records: Iterator[Record]) -> None:
    if table == "settings_changes":  # SQLite holds moments as text
        records = ((*rest, moment.strftime("%Y-%m-%d %H:%M:%S.%f")) for *rest, moment in records)
    driver: Any = (await connection.get_raw_connection()).driver_connection
    # Past SQLAlchemy: the driver's thread then walks the records, not the event loop.
    await (await driver.executemany(_INSERT[table], records)).close()


async def _copy(connection: AsyncConnection, table: str, into: str, records: Iterator[Record]) -> None:
    driver: Any = (await connection.get_raw_connection()).driver_connection
    await driver.copy_records_to_table(into, records=records, columns=COLUMNS[table])


async def _copy_new(connection: AsyncConnection, table: str, records: Iterator[Record]) -> None:
    names, scratch = ", ".join(COLUMNS[table]), f"new_{table}"
    columns = f"SELECT {names} FROM {table} WITH NO DATA"  # noqa: S608  # names of our own tables and columns
    await connection.exec_driver_sql(f"CREATE TEMPORARY TABLE {scratch} ON COMMIT DROP AS {columns}")
    await _copy(connection, table, scratch, records)
    fill = f"INSERT INTO {table} ({names}) SELECT {names} FROM {scratch} ON CONFLICT DO NOTHING"  # noqa: S608  # names of our own tables and columns
    await connection.exec_driver_sql(fill)
