"""The doctor asks a running service that is damaged in one way or another, and names what is wrong with it."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from hybrid_scheduler.cli import doctor
from hybrid_scheduler.cli.doctor import Check
from live_server import Live, live, until

pytestmark = pytest.mark.asyncio
harm = ["ON"]  # whether writing is forbidden, where it is


async def examine(served: Live) -> dict[str, Check]:
    """Return what the doctor finds, by part."""
    checks = await asyncio.to_thread(lambda: list(doctor.check_service(served.address)))
    return {check.name: check for check in checks}


async def overwrite_pages(served: Live, folder: Path) -> None:
    """Overwrite some pages in the middle of the file."""
    await served.post("/api/simulation/stop")
    with sqlite3.connect(folder / "hms.db") as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()
    with (folder / "hms.db").open("r+b") as opened:
        opened.seek(8 * 4096)
        opened.write(b"\xff" * 4096 * 10)
    await until(lambda: served.manager.damage)


async def forbid_writing(served: Live, folder: Path) -> None:
    """Let the disk take nothing."""
    engine = served.manager.store.engine.sync_engine
    event.listen(engine, "checkout", lambda connection, *_: connection.execute(f"PRAGMA query_only = {harm[0]}"))
    await until(lambda: served.manager.recorder.is_failing)


async def fill_the_disk(served: Live, folder: Path) -> None:
    """Leave a few megabytes."""
    assert served.manager.disk is not None
    object.__setattr__(served.manager.disk, "free", 5_000_000)


async def break_background_work(served: Live, folder: Path) -> None:
    """Let the sending of frames fail, once and for all."""

    def fail() -> Any:
        raise OverflowError("too large")

    served.manager.feed.news = fail  # type: ignore[method-assign]  # this is the damage
    served.manager._note_watched()
    await until(served.manager.supervisor.troubles)


async def break_the_race(served: Live, folder: Path) -> None:
    """Let a policy fail, without a change that could be undone."""
    simulation = served.manager.simulation
    assert simulation is not None

    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("by zero")

    simulation.race.place = fail  # type: ignore[method-assign, assignment]  # this is the damage
    await until(lambda: simulation.state == "failed")


Damage = Callable[[Live, Path], Coroutine[Any, Any, None]]


@pytest.mark.parametrize(
    ("damage", "parts"),
    [
        (overwrite_pages, {"store": ("is damaged", "hms restore")}),
        (forbid_writing, {"store": ("is read-only", "make the file"), "race": ("rows wait to be stored", "")}),
        (fill_the_disk, {"disk": ("5 MB are left for the database", "hms prune")}),
        (break_background_work, {"tasks": ("the sending of frames failed (OverflowError", "started again")}),
        (break_the_race, {"engine": ("ZeroDivisionError", ""), "race": ("ZeroDivisionError", "")}),
    ],
)
async def test_what_is_damaged_is_named(
    damage: Damage, parts: dict[str, tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hybrid_scheduler.server.race.CHECK_SECONDS", 0.05)
    harm[0] = "ON"
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True, data_dir=tmp_path, pace=1000.0) as served:
        await served.until_tasks(300)
        await until(lambda: served.manager.disk)
        assert {check.state for check in (await examine(served)).values()} == {"ok"}
        await damage(served, tmp_path)
        checks = await examine(served)
        harm[0] = "OFF"
    for part, (found, advice) in parts.items():
        check = checks[part]
        assert check.state == "fail", check
        assert found in f"{check.found}: {check.advice}"
        assert advice in check.advice


async def test_what_is_wrong_ends_at_the_last_colon_outside_of_parentheses() -> None:
    check = doctor._describe_fault("store", "it is damaged (Main freelist: leaf count too big): restore a copy")
    assert (check.found, check.advice) == ("it is damaged (Main freelist: leaf count too big)", "restore a copy")
    check = doctor._describe_fault("race", "40 rows wait: the disk is full: make room")
    assert (check.found, check.advice) == ("40 rows wait: the disk is full", "make room")
    assert doctor._describe_fault("engine", "nothing moves").advice == ""


async def test_parts_that_are_well_say_how_they_are(tmp_path: Path) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", data_dir=tmp_path) as served:
        await until(lambda: served.manager.disk)
        checks = await examine(served)
    assert re.fullmatch(r"the database takes \d+ MB, [\d,]+ MB are left", checks["disk"].found)
    assert checks["tasks"].found == "all work in the background goes on"
    assert checks["store"].found == "sqlite"


async def test_a_request_that_is_refused_is_told_with_its_reason(tmp_path: Path) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", rate_limit="1/hour") as served:
        await served.get("/api/status")
        checks = await examine(served)
    assert checks["store"].state == "ok"
    assert (checks["race"].state, checks["race"].found) == (
        "fail",
        "/api/status is refused with 429, more requests than 1/hour",
    )
    assert checks["race"].advice == "wait a little, or raise RATE_LIMIT"
