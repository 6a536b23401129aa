"""Background work that fails is started again, reported, and named by health until it has worked for a while."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hybrid_scheduler.server import supervision
from hybrid_scheduler.server.supervision import Supervisor
from hybrid_scheduler.storage import background
from live_server import live, until

pytestmark = pytest.mark.asyncio


async def test_work_that_fails_is_started_again_and_its_failure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "FIRST_DELAY", 0.001)
    told, tries, done = list[str](), 0, asyncio.Event()

    async def work() -> None:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise RuntimeError("no luck")
        done.set()

    supervisor = Supervisor(told.append)
    supervisor.keep(work, "frames")
    await done.wait()
    assert told == ["frames failed (RuntimeError: no luck): it is started again"] * 2
    assert (supervisor.failures, supervisor.troubles()) == (2, told[:1])
    monkeypatch.setattr(supervision, "CALM_SECONDS", 0.0)
    assert supervisor.troubles() == []


async def test_work_that_loses_its_cancellation_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "CANCEL_AGAIN", 0.001)
    lost = 0

    async def work() -> None:
        nonlocal lost
        while True:
            try:
                await asyncio.sleep(600.0)
            except asyncio.CancelledError:  # as a client does whose answer comes at the same moment
                if lost == 2:
                    raise
                lost += 1

    supervisor = Supervisor(lambda _: None)
    task = supervisor.keep(work, "frames")
    await asyncio.sleep(0.0)
    await supervisor.close()
    assert (lost, task.cancelled(), supervisor.kept) == (2, True, 0)


async def test_frames_go_on_after_a_failure_and_health_says_that_there_was_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with live(f"sqlite:///{tmp_path}/hms.db", autostart=True) as served, served.watch() as client:
        assert (await served.get("/api/health"))["tasks"]["state"] == "ok"
        build, failed = served.manager.feed.news, False

        def fail_once() -> Any:
            nonlocal failed
            if not failed:
                failed = True
                raise OverflowError("too large")
            return build()

        monkeypatch.setattr(served.manager.feed, "news", fail_once)
        await until(lambda: failed)
        await client.next("notification")
        await client.next("simulation_update")
        health = await served.get("/api/health")
        assert (health["state"], health["tasks"]["state"]) == ("degraded", "degraded")
        assert "OverflowError" in health["tasks"]["message"]
        assert "hms_background_failures_total 1.0" in (await served.client.get("/api/metrics")).text
