"""`hms doctor`: look at this machine and say what is missing and how to get it."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from hybrid_scheduler.cli import options
from hybrid_scheduler.errors import SchedulerError

if TYPE_CHECKING:
    from hybrid_scheduler.settings import AppSettings

MARKS = {"ok": "ok", "note": "–", "fail": "NO"}


def doctor(json: options.Json = False) -> None:
    """Check this machine: Python, memory, the compiled loop, torch, database, Redis, dashboard, port, extras.

    Every line says what was found; below it, what to do where something is missing. The exit code is 1 if something
    keeps hms from working, else 0.
    """
    checks: list[Check] = []
    for check in examine():
        checks.append(check)
        if not json:
            _print(check)
    failed = [check.name for check in checks if check.state == "fail"]
    if json:
        from hybrid_scheduler.studies.results import to_json

        typer.echo(to_json({"ok": not failed, "checks": [asdict(check) for check in checks]}), nl=False)
    else:
        typer.echo(
            f"\nput right: {', '.join(failed)}"
            if failed
            else "\nready: hms serve shows the race, hms compare runs one"
        )
    raise typer.Exit(1 if failed else 0)


def _print(check: Check) -> None:
    typer.echo(f"{MARKS[check.state]:3} {check.name:14} {check.found}")
    if check.advice:
        typer.echo(f"{'':18} → {check.advice}")


State = Literal["ok", "note", "fail"]


@dataclass(frozen=True)
class Check:
    """What was found, and what to do about it; a note asks for nothing, a failure keeps something from working."""

    name: str
    state: State
    found: str
    advice: str = ""


def looked_at(name: str, look: Callable[[], Check]) -> Check:
    """Look at one thing; a look that fails in a way nobody foresaw is a finding too, and the others go on."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001  # the doctor is called when anything may be broken
        lines = str(error).strip().splitlines() or [""]
        return Check(
            name, "fail", f"{type(error).__name__}: {lines[0]}", "report it with the output of hms doctor --json"
        )


OLDEST = (3, 11)
LEAST_MEMORY_MB, LEAST_DISK_MB = 2000, 2000  # a server and its learners hold 1.3 GB; runs and models need room
TASKS, FEW = 500_000, 500
SLOW = 1e6  # tasks a second below which something is wrong with the compiled loop


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Look at the version of Python."""
    found = f"{'.'.join(map(str, version))}, {platform.system()} {platform.machine()}"
    if version[:2] < OLDEST:
        return Check("Python", "fail", found, "install Python 3.11 or newer")
    return Check("Python", "ok", found)


def cores() -> Check:
    """Count the cores that this process may use."""
    from hybrid_scheduler.profiling import devices

    count = devices.cores()
    if count < 2:
        return Check("cores", "note", "1", "learners study in a process of their own: two cores serve them better")
    return Check("cores", "ok", f"{count}, {devices.cpu_name()}")


def memory(free_mb: float | None = None) -> Check:
    """Look at the memory that is free."""
    from hybrid_scheduler.profiling import devices

    free, total = free_mb or _available_mb(), devices.memory_mb()
    if free is None:
        return Check("memory", "note", "this system does not tell", f"{LEAST_MEMORY_MB / 1000:g} GB are enough")
    found = f"{free / 1000:.1f} GB free" + (f" of {total / 1000:.1f}" if total else "")
    if free < LEAST_MEMORY_MB:
        return Check("memory", "fail", found, f"free {LEAST_MEMORY_MB / 1000:g} GB: close other programs")
    return Check("memory", "ok", found)


def _available_mb(meminfo: Path = Path("/proc/meminfo")) -> float | None:
    from hybrid_scheduler.profiling import devices

    if not meminfo.is_file():
        return devices.memory_mb()
    lines = meminfo.read_text(encoding="utf-8").splitlines()
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("MemAvailable:")), None)


def disk(folder: Path, least_mb: float = LEAST_DISK_MB) -> Check:
    """Look at the room in the folder of data, or in the one that it would be made in."""
    there = nearest(folder)
    if not os.access(there, os.W_OK):
        return Check("disk", "fail", f"{folder} cannot be written", "set DATA_DIR to a folder that can")
    free = shutil.disk_usage(there).free / 1e6
    found = f"{free / 1000:.1f} GB free for {folder}"
    if free < least_mb:
        return Check("disk", "fail", found, "free space, or set DATA_DIR to another disk and lower KEEP_TASKS")
    return Check("disk", "ok", found)


def nearest(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())


def cache() -> Check:
    """Look whether compiled loops can be kept."""
    from hybrid_scheduler.core.compiling import cache_directory

    wanted = os.environ.get("HMS_CACHE_DIR")
    try:
        folder = cache_directory()
    except SchedulerError as error:
        return Check("cache", "fail", str(error), "set HMS_CACHE_DIR to a folder that can be written")
    if wanted and folder != Path(wanted):
        return Check("cache", "note", f"{wanted} cannot be written, {folder} is used", "every start may compile anew")
    return Check("cache", "ok", f"{folder} can be written")


def compiled_loop(count: int = TASKS, slow: float = SLOW) -> Check:
    """Simulate with the compiled loop; see that it is quick, and right to the last bit."""
    import numpy as np

    from hybrid_scheduler import Cluster, VirtualMultiGPU, WorkloadGenerator, registry

    cluster = Cluster.default()
    system, policy = VirtualMultiGPU(cluster=cluster), registry.schedulers.create("eft", seed=0)
    tasks = WorkloadGenerator(0).generate_preset("mixed", count, load=0.9, cluster=cluster)
    few = WorkloadGenerator(0).generate_preset("mixed", FEW, load=0.9, cluster=cluster)
    once, plain = system.run(replace(few), policy), system.run(replace(few), policy, interpreted=True)  # compiles
    begin = time.perf_counter()
    system.run(tasks, policy)
    speed = count / (time.perf_counter() - begin)
    found = f"{speed / 1e6:.1f} million tasks a second"
    if not np.array_equal(once.finish, plain.finish):
        return Check("compiled loop", "fail", f"{found}, but not what plain Python gives", "reinstall numba")
    if speed < slow:
        return Check("compiled loop", "note", found, "slow: other programs are busy, or this machine is")
    return Check("compiled loop", "ok", f"{found}, equal to plain Python to the last bit")


OURS = "hybrid-ml-scheduler"
OLDEST_NODE = 20
NEEDED_FOR = {
    "notebooks": "running the notebooks",
    "postgres": "storing in PostgreSQL",
    "ray": "running tasks on Ray",
    "redis": "a shared cache and web workers",
    "xgboost": "hybrid_ml with XGBoost",
}
"""The extras and what each is for."""


def torch() -> Check:
    """Look at torch and the devices it finds."""
    from hybrid_scheduler.profiling.profiler import HardwareProfiler, silent

    try:
        with silent():
            looked = HardwareProfiler("auto", quick=True)
    except ImportError as error:
        advice = f"pip install 'torch{_wanted('torch')}'; until then rl_agent and hms profile do not work"
        return Check("torch", "fail", f"cannot be imported ({error})", advice)
    if looked.gpu is None:
        found = f"{version('torch')}, CPU only: {looked.reason}"
        return Check(
            "torch", "note", found, "nothing to do: simulated GPUs need no real one; hms profile measures real ones"
        )
    memory = f", {looked.gpu.memory_mb / 1000:.0f} GB" if looked.gpu.memory_mb else ""
    return Check(
        "torch", "ok", f"{version('torch')}, {looked.gpu.count} × {looked.gpu.name} ({looked.gpu.type}{memory})"
    )


def of_extra(name: str) -> Check:
    """Look whether the packages of an extra are there."""
    there, missing = [], []
    for package in _packages_of(name):
        try:
            there.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    purpose = NEEDED_FOR[name]
    if not there and not missing:
        return Check(f"[{name}]", "note", "this install does not know it", f"only for {purpose}: reinstall {OURS}")
    if missing:
        advice = f"only for {purpose}: pip install '{OURS}[{name}]'"
        return Check(f"[{name}]", "note", f"{', '.join(missing)} not installed", advice)
    return Check(f"[{name}]", "ok", f"{', '.join(there)}: {purpose}")


def _packages_of(extra_name: str) -> list[str]:
    wanted = [line for line in _requirements() if re.search(rf"extra == ['\"]{extra_name}['\"]", line)]
    return sorted({re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted})


def _wanted(package: str) -> str:
    """Return the version of a package that this one asks for, such as ==2.13.0."""
    lines = [line for line in _requirements() if re.match(rf"{package}\b", line)]
    return lines[0].removeprefix(package).split(";")[0].strip() if lines else ""


def _requirements() -> Iterable[str]:
    return requires(OURS) or ()


def node() -> Check:
    """Look at Node, which only those need who work on the dashboard."""
    program = shutil.which("node")
    if program is None:
        return Check(
            "Node", "note", "not installed", "only needed to work on the dashboard: install Node 20 or newer"
        )
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603  # node itself
    found = done.stdout.strip() or "does not run"
    if not (number := re.match(r"v(\d+)", found)) or int(number[1]) < OLDEST_NODE:
        return Check("Node", "note", found, "only needed to work on the dashboard: install Node 20 or newer")
    return Check("Node", "ok", f"{found}, only needed to work on the dashboard")


PATIENCE = 5.0  # seconds


def check_settings() -> tuple[AppSettings | None, Check]:
    """Read the settings as `hms serve` would."""
    try:
        from hybrid_scheduler.settings import load_settings

        found = load_settings()
    except SchedulerError as error:
        return None, Check("settings", "fail", str(error), "correct the environment, .env or config.yaml")
    return found, Check("settings", "ok", f"{found.environment}, role {found.role}")


def dashboard(page: Path | None = None) -> Check:
    """Look for the built dashboard."""
    from hybrid_scheduler.server.pages import WEB

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
    from hybrid_scheduler.storage.database import connect, read_url
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


Look = Callable[[], Check]


def examine() -> Iterator[Check]:
    """Look at everything, one after the other."""
    settings, found = check_settings()
    folder = settings.data_dir if settings else Path("data")
    yield from _all(
        {
            "Python": python,
            "cores": cores,
            "memory": memory,
            "disk": partial(disk, folder),
            "cache": cache,
            "compiled loop": compiled_loop,
            "torch": torch,
            "dashboard": dashboard,
        }
    )
    yield found
    if settings:
        looks = {"port": port, "database": database, "Redis": redis}
        yield from _all({name: partial(look, settings) for name, look in looks.items()})
    yield from _all({f"[{name}]": partial(of_extra, name) for name in NEEDED_FOR})
    yield from _all({"Node": node})


def _all(looks: dict[str, Look]) -> Iterator[Check]:
    return (looked_at(name, look) for name, look in looks.items())
