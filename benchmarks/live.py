"""The live service: placements a second at full speed with learning off and on, and its work when nobody watches."""

from __future__ import annotations

import asyncio
import logging
import tempfile
import time
from pathlib import Path
from statistics import median

from loguru import logger

from benchmarks.asking import wait_for
from benchmarks.rows import Row, require
from benchmarks.soak.asking import wait_for_tasks
from benchmarks.soak.server import Server
from hybrid_scheduler.live.settings import LiveSettings
from hybrid_scheduler.server.race import RaceManager
from hybrid_scheduler.settings import load_settings
from hybrid_scheduler.studies import pretraining

ASKED, ASKED_LEARNING = 20_000, 10_000  # placements a second
SECONDS = 8.0
IDLE_SHARE = 0.05  # of a core, with nobody watching
RESUMED_TASKS, RESUME_SECONDS = 60_000, 10.0
KILLS, BETWEEN_KILLS = 5, 10_000  # of the resumed service, and tasks between them
SETTLED, WATCH = 100.0, 120.0  # seconds until nobody counts as watching any more, and of the measurement
OTHERS = ("round_robin", "random", "greedy", "oracle")
LEARNING = (*OTHERS, "hybrid_ml", "rl_agent")


def engine_speed() -> list[Row]:
    """Measure placements per second, from the first task to the last committed row, into SQLite."""
    logger.remove()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        trained = _trained(Path(folder))
        off = asyncio.run(_placements_per_second(folder, trained))
        learning = asyncio.run(_placements_per_second(folder, LEARNING, repeatable=False))
        repeatable = asyncio.run(_placements_per_second(folder, LEARNING))
    return [
        Row("live_engine", off, ASKED, "placem./s", target=1.0),
        Row("live_engine_learning", learning, ASKED_LEARNING, "placem./s", target=1.0),
        Row("live_engine_repeatable", repeatable, learning, "placem./s", target=0.0),  # printed, nothing is asked for
    ]


def idle_service() -> list[Row]:
    """Measure the seconds of a core that service and learners take per second when no client is connected."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder), {"PACE": "20", "MAX_QUEUE": "10000"}) as service,
    ):
        wait_for(service.port, "/api/health")
        time.sleep(SETTLED)
        before, begin = service.cpu_seconds(), time.monotonic()
        time.sleep(WATCH)
        seconds = time.monotonic() - begin
        own, learners = ((now - then) / seconds for now, then in zip(service.cpu_seconds(), before, strict=True))
    return [
        Row("live_idle", own, IDLE_SHARE, "cores", target=1.0, at_most=True),
        Row("live_idle_learners", learners, own, "cores", target=0.0),  # printed: they train as when somebody watches
    ]


def resume_after_kill() -> list[Row]:
    """Measure the seconds from the start of a process until the race of a killed one goes on, with both learners."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder, Server(Path(folder), {"RESUME": "true"}) as service:
        for kill in range(KILLS):
            tasks = RESUMED_TASKS + kill * BETWEEN_KILLS
            wait_for_tasks(service.port, tasks, 3600.0)
            service.kill()
            troubles = [line.strip() for line in service.lines if "checkpoint" in line]
            begin = time.monotonic()
            service.start_again()
            wait_for_tasks(service.port, tasks, 600.0)
            seconds.append(time.monotonic() - begin)
            print(f"killed after {tasks} tasks: goes on after {seconds[-1]:.1f} s", *troubles, flush=True)
    return [
        Row("live_resume", median(seconds), RESUME_SECONDS, "s", target=1.0, at_most=True),
        Row("live_resume_worst", max(seconds), RESUME_SECONDS, "s", target=0.0),  # printed: one steal makes it
    ]


def _trained(folder: Path) -> tuple[str, ...]:
    """Return the six with models that stay as they are."""
    cluster, forest = LiveSettings().cluster, folder / "forest.pkl"
    pretraining.pretrain_on_presets("hybrid_ml", ("mixed",), 2000, 0.9, 1, cluster).save(forest)
    agent = pretraining.find_or_train_model("rl_agent", cluster)
    return (*OTHERS, f"hybrid_ml:online=false:model={forest}", f"rl_agent:online=false:model={agent}")


async def _placements_per_second(folder: str, schedulers: tuple[str, ...], repeatable: bool = True) -> float:
    database = f"sqlite:///{folder}/{len(list(Path(folder).iterdir()))}.db"
    settings = load_settings(
        database_url=database,
        schedulers=schedulers,
        pace="none",
        log_file="none",
        autostart=False,
        keep_tasks="none",
        repeatable=repeatable,
    )
    manager = RaceManager(settings)
    await manager.open()
    try:
        await manager.start()  # compiles
        await asyncio.sleep(1.0)
        await manager.stop()
        begin = time.perf_counter()
        run_id = await manager.start()
        await asyncio.sleep(SECONDS)
        await manager.stop()  # returns when every row is committed
        seconds = time.perf_counter() - begin
        snapshot, last = manager.snapshot(), await manager.store.last_task(run_id)
        require(snapshot is not None and not snapshot.error, "the simulation failed")
        tasks = snapshot.tasks_processed if snapshot else 0
        require(last == tasks - 1, f"{tasks} tasks were placed, but task {last} is the last that was stored")
        return tasks * len(schedulers) / seconds
    finally:
        await manager.close()
