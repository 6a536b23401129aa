"""`hms doctor`: check this machine and say what is missing and how to get it."""

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
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from hybrid_scheduler.cli import options, output
from hybrid_scheduler.errors import SchedulerError
from hybrid_scheduler.registry import PACKAGE, how_to_install, is_installed

if TYPE_CHECKING:
    from hybrid_scheduler.settings import AppSettings

MARKS = {"ok": "ok", "note": "–", "fail": "NO"}
OLDEST_PYTHON, OLDEST_NODE = (3, 11), 20
LEAST_MEMORY_MB, LEAST_DISK_MB = 2000, 2000  # a server and its learners hold 1.3 GB; runs and models need room
TASKS, FEW_TASKS = 500_000, 500
SLOW = 1e6  # tasks a second below which something is wrong with the compiled loop
CONNECT_TIMEOUT, SERVICE_TIMEOUT = 5.0, 30.0  # seconds
IN_PARENTHESES = re.compile(r"\([^()]*\)")
NODE_ADVICE = f"only needed to work on the dashboard: install Node {OLDEST_NODE} or newer"
EXTRAS = {
    "notebooks": "running the notebooks",
    "pdf": "reports as PDF",
    "postgres": "storing in PostgreSQL",
    "ray": "running tasks on Ray",
    "redis": "a shared cache and web workers",
    "rl": "rl_agent, and finding real GPUs",
    "tensorboard": "curves and weights of hms train in TensorBoard",
    "xgboost": "hybrid_ml with XGBoost",
}
"""The extras of the package and what each is for."""


def doctor(
    service: Annotated[
        str | None, typer.Option("--service", help="Check a running service instead, as http://localhost:8000.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Check this machine: Python, memory, the compiled loop, torch, database, Redis, dashboard, port, extras.

    With --service, ask a running service how its parts are. Every line says what was found; below it, what to do
    where something is missing. The exit code is 1 if something keeps hms from working, else 0.
    """
    checks: list[Check] = []
    for check in check_all() if service is None else check_service(service):
        checks.append(check)
        if not json:
            typer.echo(f"{MARKS[check.state]:3} {check.name:14} {check.found}")
        if check.advice and not json:
            typer.echo(f"{'':18} → {check.advice}")
    failed = [check.name for check in checks if check.state == "fail"]
    if json:
        output.print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    elif failed:
        typer.echo(f"\nfix: {', '.join(failed)}")
    else:
        done = "hms serve starts the live race, hms compare runs a comparison"
        typer.echo(f"\nready: {done if service is None else f'{service} works'}")
    raise typer.Exit(1 if failed else 0)


@dataclass(frozen=True)
class Check:
    """What was found, and what to do about it; a note needs no action, a failure keeps something from working."""

    name: str
    state: Literal["ok", "note", "fail"]
    found: str
    advice: str = ""


def check_all() -> Iterator[Check]:
    """Run every check, one after the other."""
    settings, settings_check = check_settings()
    checks: dict[str, Callable[[], Check]] = {
        "Python": check_python,
        "cores": check_cores,
        "memory": check_memory,
        "disk": partial(check_disk, settings.data_dir if settings else Path("data")),
        "cache": check_cache,
        "compiled loop": check_loop,
        "torch": check_torch,
        "dashboard": check_dashboard,
        "settings": lambda: settings_check,
    }
    if settings:
        for name, check in (("port", check_port), ("database", check_database), ("Redis", check_redis)):
            checks[name] = partial(check, settings)
    checks |= {f"[{name}]": partial(check_extra, name) for name in EXTRAS} | {"Node": check_node}
    return (run_check(name, check) for name, check in checks.items())


def run_check(name: str, check: Callable[[], Check]) -> Check:
    """Run one check; an unexpected exception is a failed check, and the others go on."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  # the doctor is called when anything may be broken
        lines = str(error).strip().splitlines() or [""]
        advice = "report it with the output of hms doctor --json"
        return Check(name, "fail", f"{type(error).__name__}: {lines[0]}", advice)


def check_service(url: str) -> Iterator[Check]:
    """Ask a running service for the health of its parts, and its race for what halts it."""
    try:
        health = _ask(url, "/api/health")
        parts = {name: dict(part) for name, part in health.items() if isinstance(part, dict) and "state" in part}
        up = f"hms {health['version']}, up for {float(health['uptime']):.0f} s"
    except SchedulerError as error:
        yield _describe_fault("service", str(error))
        return
    except (OSError, http.client.HTTPException, KeyError, ValueError, TypeError) as error:
        found = f"{url} does not answer as a service of hms ({_describe_error(error)})"
        yield Check("service", "fail", found, "start it with hms serve, or correct the address")
        return
    yield Check("service", "ok", up)
    states: dict[str, Literal["ok", "note", "fail"]] = {"ok": "ok", "none": "note"}
    for name, part in parts.items():
        state = states.get(part["state"], "fail")
        message = str(part.get("message") or "")
        yield replace(_describe_fault(name, message or _describe_part(name, health)), state=state)
    yield run_check("race", partial(_check_race, url))


def _check_race(url: str) -> Check:
    """Ask for the state of the race; a service whose database answers may still not answer this."""
    try:
        status = _ask(url, "/api/status")
    except SchedulerError as error:
        return _describe_fault("race", str(error))
    except OSError as error:
        found = f"/api/status has no answer ({_describe_error(error)})"
        return Check("race", "fail", found, "read the log of the service, restart it with RESUME=true")
    trouble = str(status.get("error") or status.get("notice") or "")
    return _describe_fault("race", trouble) if trouble else Check("race", "ok", str(status.get("state")))


def _describe_fault(name: str, message: str) -> Check:
    """Return a failed check; a message of the service says what is wrong and then, after a colon, what to do."""
    bare = IN_PARENTHESES.sub(lambda match: "·" * len(match[0]), message)  # where a library's own colons stand
    colon = bare.rfind(": ")
    found, advice = (message[:colon], message[colon + 2 :]) if colon >= 0 else (message, "")
    return Check(name, "fail", found, advice)


def _describe_part(name: str, health: dict[str, Any]) -> str:
    """Say how a part is that complains of nothing."""
    size, free = health.get("database_bytes"), health.get("disk_free_bytes")
    if name == "disk" and size is not None and free is not None:
        return f"the database takes {size / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are left"
    return "all work in the background goes on" if name == "tasks" else str(health[name].get("kind"))


def _describe_error(error: Exception) -> str:
    """Say what kind of error it is, and what the system calls it."""
    kind, words = type(error).__name__, str(error)
    return f"{kind}: {words}" if isinstance(error, OSError) and words else kind


def _ask(url: str, path: str) -> dict[str, Any]:
    """Return the JSON that a service answers, whatever its status code; a request that it refuses is an error."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    with closing(kind(parts.hostname or "", parts.port, timeout=SERVICE_TIMEOUT)) as connection:
        connection.request("GET", parts.path.rstrip("/") + path)
        answer = connection.getresponse()
        found = dict(json.loads(answer.read()))
    if isinstance(refusal := found.get("error"), dict):
        hint = f": {refusal['hint']}" if refusal.get("hint") and refusal["hint"] not in refusal["message"] else ""
        raise SchedulerError(f"{path} is refused with {answer.status}, {refusal['message']}{hint}")
    return found


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> Check:
    """Check the version of Python."""
    found = f"{'.'.join(map(str, version))}, {platform.system()} {platform.machine()}"
    if version[:2] < OLDEST_PYTHON:
        return Check("Python", "fail", found, "install Python 3.11 or newer")
    return Check("Python", "ok", found)


def check_cores() -> Check:
    """Count the cores that this process may use."""
    from hybrid_scheduler.profiling import devices

    count = devices.usable_cores()
    if count < 2:
        return Check("cores", "note", "1", "learners train in a process of their own: two cores serve them better")
    return Check("cores", "ok", f"{count}, {devices.cpu_name()}")


def check_memory(free_mb: float | None = None) -> Check:
    """Check the free memory."""
    from hybrid_scheduler.profiling import devices

    total, meminfo = devices.memory_mb(), Path("/proc/meminfo")
    free = free_mb or total
    if not free_mb and meminfo.is_file():
        available = re.search(r"^MemAvailable:\s*(\d+)", meminfo.read_text(encoding="utf-8"), re.MULTILINE)
        free = int(available[1]) / 1000 if available else None
    if free is None:
        return Check("memory", "note", "unknown on this system", f"{LEAST_MEMORY_MB / 1000:g} GB are enough")
    found = f"{free / 1000:.1f} GB free" + (f" of {total / 1000:.1f}" if total else "")
    if free < LEAST_MEMORY_MB:
        return Check("memory", "fail", found, f"free {LEAST_MEMORY_MB / 1000:g} GB: close other programs")
    return Check("memory", "ok", found)


def check_disk(folder: Path, least_mb: float = LEAST_DISK_MB) -> Check:
    """Check the free space of the data folder, or of the one that it would be created in."""
    existing = nearest_folder(folder)
    if not os.access(existing, os.W_OK):
        return Check("disk", "fail", f"{folder} cannot be written", "set DATA_DIR to a folder that can")
    free = shutil.disk_usage(existing).free / 1e6
    found = f"{free / 1000:.1f} GB free for {folder}"
    if free < least_mb:
        return Check("disk", "fail", found, "free space, or set DATA_DIR to another disk and lower KEEP_TASKS")
    return Check("disk", "ok", found)


def nearest_folder(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that exists."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())


def check_cache() -> Check:
    """Check that compiled loops can be cached."""
    from hybrid_scheduler.core.compiler import cache_directory

    wanted = os.environ.get("HMS_CACHE_DIR")
    try:
        folder = cache_directory()
    except SchedulerError as error:
        return Check("cache", "fail", str(error), "set HMS_CACHE_DIR to a folder that can be written")
    if wanted and folder != Path(wanted):
        return Check("cache", "note", f"{wanted} cannot be written, {folder} is used", "every start may compile anew")
    return Check("cache", "ok", f"{folder} can be written")


def check_loop(count: int = TASKS, slow: float = SLOW) -> Check:
    """Simulate with the compiled loop: it must be fast, and bit-identical to the interpreted one."""
    import numpy as np

    from hybrid_scheduler import Cluster, VirtualMultiGPU, WorkloadGenerator, registry

    cluster = Cluster.default()
    system, policy = VirtualMultiGPU(cluster=cluster), registry.schedulers.create("eft", seed=0)
    many, few = (
        WorkloadGenerator(0).generate_preset("mixed", number, load=0.9, cluster=cluster)
        for number in (count, FEW_TASKS)
    )
    compiled = system.run(replace(few), policy)  # compiles, so that the timing below does not
    interpreted = system.run(replace(few), policy, interpreted=True)
    begin = time.perf_counter()
    system.run(many, policy)
    speed = count / (time.perf_counter() - begin)
    found = f"{speed / 1e6:.1f} million tasks a second"
    if not np.array_equal(compiled.finish, interpreted.finish):
        return Check("compiled loop", "fail", f"{found}, but not what plain Python gives", "reinstall numba")
    if speed < slow:
        return Check("compiled loop", "note", found, "slow: other programs are busy, or this machine is")
    return Check("compiled loop", "ok", f"{found}, bit-identical to plain Python")


def check_torch() -> Check:
    """Check torch and the devices it finds."""
    from hybrid_scheduler.profiling.profiler import HardwareProfiler, silent

    if not is_installed("torch"):
        advice = f"only for rl_agent and real GPUs: {how_to_install('rl')}"
        return Check("torch", "note", "not installed: races run without rl_agent", advice)
    try:
        with silent():
            profiler = HardwareProfiler("auto", quick=True)
    except ImportError as error:
        return Check("torch", "fail", f"cannot be imported ({error})", f"reinstall it: {how_to_install('rl')}")
    gpu = profiler.gpu
    if gpu is None:
        advice = "nothing to do: simulated GPUs need no real one; hms profile measures real ones"
        return Check("torch", "note", f"{version('torch')}, CPU only: {profiler.reason}", advice)
    memory = f", {gpu.memory_mb / 1000:.0f} GB" if gpu.memory_mb else ""
    return Check("torch", "ok", f"{version('torch')}, {gpu.count} × {gpu.name} ({gpu.type}{memory})")


def check_extra(name: str) -> Check:
    """Check that the packages of an extra are installed."""
    installed, missing = [], []
    wanted = [line for line in requires(PACKAGE) or () if re.search(rf"extra == ['\"]{name}['\"]", line)]
    for package in sorted({re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in wanted}):
        try:
            installed.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            missing.append(package)
    title, purpose = f"[{name}]", EXTRAS[name]
    if missing:
        advice = f"only for {purpose}: {how_to_install(name)}"
        return Check(title, "note", f"{', '.join(missing)} not installed", advice)
    if not installed:
        return Check(title, "note", "unknown to this install", f"only for {purpose}: reinstall {PACKAGE}")
    return Check(title, "ok", f"{', '.join(installed)}: {purpose}")


def check_node() -> Check:
    """Check Node, which is only needed to work on the dashboard."""
    program = shutil.which("node")
    if program is None:
        return Check("Node", "note", "not installed", NODE_ADVICE)
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603  # node itself
    found = done.stdout.strip() or "does not run"
    if not (number := re.match(r"v(\d+)", found)) or int(number[1]) < OLDEST_NODE:
        return Check("Node", "note", found, NODE_ADVICE)
    return Check("Node", "ok", f"{found}, only needed to work on the dashboard")


def check_settings() -> tuple[AppSettings | None, Check]:
    """Read the settings as `hms serve` would."""
    from hybrid_scheduler.settings import load_settings

    try:
        settings = load_settings()
    except SchedulerError as error:
        return None, Check("settings", "fail", str(error), "correct the environment, .env or config.yaml")
    return settings, Check("settings", "ok", f"{settings.environment}, role {settings.role}")


def check_dashboard(page: Path | None = None) -> Check:
    """Check that the dashboard is built."""
    from hybrid_scheduler.server.pages import WEB

    if not (page or WEB / "index.html").is_file():
        advice = "in a source tree run make dashboard (needs Node 20); a wheel holds it: reinstall it"
        return Check("dashboard", "fail", "not built", advice)
    return Check("dashboard", "ok", "built; any browser on any machine shows it, none is needed here")


def check_port(settings: AppSettings) -> Check:
    """Check that the port is free, or taken by a running service."""
    from hybrid_scheduler.server.serve import listen

    name = f"port {settings.port}"
    try:
        listen(settings.host, settings.port).close()
    except SchedulerError as error:
        if version := _ask_version(settings):
            return Check(name, "ok", f"hms {version} is running there")
        found, _, advice = str(error).partition(": ")
        return Check(name, "fail", found, advice)
    return Check(name, "ok", f"free on {settings.host}")


def _ask_version(settings: AppSettings) -> str | None:
    """Return the version of the service that answers on the port, None if it is another program."""
    connection = http.client.HTTPConnection(settings.host, settings.port, timeout=2)
    try:
        connection.request("GET", "/api/health")
        return str(json.loads(connection.getresponse().read())["version"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()


def check_database(settings: AppSettings) -> Check:
    """Check that the database answers; nothing is created or changed there."""
    from hybrid_scheduler.storage.database import connect, parse_url
    from hybrid_scheduler.storage.store import Store

    address = settings.database
    if address.startswith("sqlite") and not (file := Path(address.split("///", 1)[-1])).exists():
        return Check("database", "ok", f"SQLite, {file} will be created in {nearest_folder(file.parent)}")

    async def ping() -> tuple[str, float]:
        store = Store(connect(parse_url(address), CONNECT_TIMEOUT))
        try:
            return store.where, await store.ping()
        finally:
            await store.close()

    try:
        where, seconds = asyncio.run(ping())
    except SchedulerError as error:
        found, _, advice = str(error).rpartition(": ")
        return Check("database", "fail", found, advice)
    return Check("database", "ok", f"{where} answers in {1e3 * seconds:.1f} ms")


def check_redis(settings: AppSettings) -> Check:
    """Check that Redis answers, if one is configured."""
    if settings.redis is None:
        return Check("Redis", "ok", "none configured: the cache is in the process")
    from hybrid_scheduler.storage.cache import open_cache

    async def ping() -> float | None:
        cache = await open_cache(settings.redis)
        try:
            return await cache.ping()
        finally:
            await cache.close()

    try:
        seconds = asyncio.run(ping())
    except SchedulerError as error:
        found, _, advice = str(error).partition(": ")
        return Check("Redis", "fail", found, advice)
    if seconds is None:
        return Check("Redis", "fail", "configured, but does not answer", "start it, or correct REDIS_URL")
    return Check("Redis", "ok", f"answers in {1e3 * seconds:.1f} ms")
