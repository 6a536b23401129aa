"""The service: its settings, dashboard, port, database and Redis."""

from __future__ import annotations

import asyncio
import http.client
import json
from pathlib import Path

from hybrid_scheduler.doctor.check import Check
from hybrid_scheduler.doctor.machine import nearest
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.settings import AppSettings, load_settings

PATIENCE = 5.0  # seconds


def settings() -> tuple[AppSettings | None, Check]:
    """Read the settings as `hms serve` would."""
    try:
        found = load_settings()
    except SchedulerError as error:
        return None, Check("settings", "fail", str(error), "correct the environment, .env or config.yaml")
    return found, Check("settings", "ok", f"{found.environment}, role {found.role}")


def dashboard(page: Path | None = None) -> Check:
    """Look for the built dashboard."""
    from hybrid_scheduler.server.dashboard import WEB

    if not (page or WEB / "index.html").is_file():
        advice = "in a source tree run make dashboard (needs Node 20); a wheel holds it: reinstall it"
        return Check("dashboard", "fail", "not built", advice)
    return Check("dashboard", "ok", "built; any browser on any machine shows it, none is needed here")


def port(settings: AppSettings) -> Check:
    """Look whether the port is free, or who has it."""
    from hybrid_scheduler.server.serve import listen

    name = f"port {settings.port}"
    try:
        listen(settings.host, settings.port).close()
    except SchedulerError as error:
        if version := _answering(settings):
            return Check(name, "ok", f"hms {version} is running there")
        found, _, advice = str(error).partition(": ")
        return Check(name, "fail", found, advice)
    return Check(name, "ok", f"free on {settings.host}")


def _answering(settings: AppSettings) -> str | None:
    """Return the version of the service that answers on the port, None if it is another program."""
    connection = http.client.HTTPConnection(settings.host, settings.port, timeout=2)
    try:
        connection.request("GET", "/api/health")
        return str(json.loads(connection.getresponse().read())["version"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()


def database(settings: AppSettings) -> Check:
    """Look whether the database answers; nothing is made or changed there."""
    from hybrid_scheduler.storage.connect import connect, read_url
    from hybrid_scheduler.storage.store import Store

    address = settings.database
    if address.startswith("sqlite") and not (file := Path(address.split("///", 1)[-1])).exists():
        return Check("database", "ok", f"SQLite, {file} will be made in {nearest(file.parent)}")

    async def ask() -> tuple[str, float]:
        store = Store(connect(read_url(address), PATIENCE))
        try:
            return store.where, await store.ping()
        finally:
            await store.close()

    try:
        where, seconds = asyncio.run(ask())
    except SchedulerError as error:
        found, _, advice = str(error).rpartition(": ")
        return Check("database", "fail", found, advice)
    return Check("database", "ok", f"{where} answers in {1e3 * seconds:.1f} ms")


def redis(settings: AppSettings) -> Check:
    """Look whether Redis answers, if one is configured."""
    if settings.redis is None:
        return Check("Redis", "ok", "none configured: the cache stands in the process")
    from hybrid_scheduler.storage.cache import open_cache

    async def ask() -> float | None:
        cache = await open_cache(settings.redis)
        try:
            return await cache.ping()
        finally:
            await cache.close()

    try:
        seconds = asyncio.run(ask())
    except SchedulerError as error:
        found, _, advice = str(error).partition(": ")
        return Check("Redis", "fail", found, advice)
    if seconds is None:
        return Check("Redis", "fail", "configured, but does not answer", "start it, or correct REDIS_URL")
    return Check("Redis", "ok", f"answers in {1e3 * seconds:.1f} ms")
