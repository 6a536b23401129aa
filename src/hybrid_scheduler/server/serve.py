"""`serve`: runs the service until a signal stops it; says how many connections there may be, and how slow they."""

from __future__ import annotations

import asyncio
import errno
import gc
import resource
import socket
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from loguru import logger
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.live.checkpoint import read_key
from hybrid_scheduler.registry import schedulers
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.logs import configure_logging
from hybrid_scheduler.settings import AppSettings
from hybrid_scheduler.storage.store import Store

SWITCH_SECONDS = 0.001  # that a busy thread, as of an export, keeps others waiting; Python's own is 0.005
COLLECT_AFTER = 50_000, 20, 50  # more objects than a block of an export has: no full collection follows from them
MAX_CLIENT_FRAME = 64 * 1024  # bytes; clients of /ws only receive
HEADER_SECONDS = 10.0  # from the connection to the end of its first headers
HURRIED_SECONDS = 2.0  # the same for an address that has more open requests than `PATIENT` already
PATIENT = 64
RESERVE = 128  # open files that are no connections: database, logs, uploads, child processes
WANTED_FILES = 65_536


def serve(settings: AppSettings, on_ready: Callable[[str], None] = lambda _: None) -> None:
    """Serve until SIGINT or SIGTERM; `on_ready` gets the URL as soon as it answers."""
    configure_logging(settings)
    if missing := schedulers.describe_missing(settings.schedulers):
        logger.warning(missing)
    asyncio.run(_check_database(settings.database))
    if settings.role == "all":
        read_key(settings.data_dir)  # made at the first start: a folder that cannot be written is one line here
    listener = listen(settings.host, settings.port)
    server = _Server(build_config(settings), lambda: on_ready(browser_url(listener)))
    _keep_pauses_short()
    with listener:
        server.run(sockets=[listener])
    if not server.started:
        raise InputError("the server could not start: the lines above say why")


def _keep_pauses_short() -> None:
    """Let busy threads make room for the event loop soon, and collect garbage seldom: in full it takes 0.3 s."""
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*COLLECT_AFTER)
    gc.collect()
    gc.freeze()


async def _check_database(url: str) -> None:
    """Open the database once, so that an error is one line before a server starts."""
    await (await Store.open(url)).close()


def build_config(settings: AppSettings) -> uvicorn.Config:
    """Return the configuration of uvicorn."""
    proxies = list(settings.forwarded_allow_ips)
    return uvicorn.Config(
        create_app(settings),
        http=build_protocol(raise_file_limit(settings.max_clients)),
        proxy_headers=bool(proxies),  # else anyone on this machine could say who asks
        forwarded_allow_ips=proxies,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MAX_CLIENT_FRAME,
        ws_per_message_deflate=False,  # costs more than it saves
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


class _Server(uvicorn.Server):
    """A server with a callback for when it is ready."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then call back."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def listen(host: str, port: int) -> socket.socket:
    """Bind the port first, so that one in use is reported before anything else is done."""
    listener = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise InputError(_describe_error(host, port, error)) from None
    return listener


def _describe_error(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is taken by another program: choose another with --port, 0 takes a free one"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights: choose one above 1023 with --port"
    return f"cannot listen on {host} ({error.strerror or error}): choose another address with --host"


def browser_url(listener: socket.socket) -> str:
    """Return the URL for a browser."""
    host, port = listener.getsockname()[:2]
    name = "localhost" if host in ("0.0.0.0", "::", "127.0.0.1", "::1") else host  # noqa: S104  # compared, not bound to
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"


def raise_file_limit(max_clients: int) -> int:
    """Raise the limit of open files as far as allowed; return how many connections there may be, with a line."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        logger.info(f"the limit of open files is raised from {soft} to {wanted}")
        soft = wanted
    room = WANTED_FILES if soft == resource.RLIM_INFINITY else max(soft - RESERVE, 16)
    if room < max_clients:
        logger.warning(
            f"{soft} open files are allowed, so there may be {room} connections, not {max_clients} clients: "
            "raise it with ulimit -n"
        )
    return room


def build_protocol(room: int) -> type[asyncio.Protocol]:
    """Return the HTTP protocol of a server with room for so many connections."""
    waiting: dict[GuardedProtocol, str] = {}  # those that have sent no whole request yet, oldest first, by address

    class GuardedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # chosen at run time
        """Closes connections that send no request in time; if there is no room, the one that waits longest."""

        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            address = self.client[0] if self.client else ""
            if len(self.connections) > room:
                (next(iter(waiting), self)).transport.abort()
            is_crowd = sum(each == address for each in waiting.values()) >= PATIENT
            waiting[self] = address
            seconds = HURRIED_SECONDS if is_crowd else HEADER_SECONDS
            self._timer = asyncio.get_running_loop().call_later(seconds, self._give_up)

        def _give_up(self) -> None:
            if waiting.pop(self, None) is not None:
                self.transport.abort()

        def _arrived(self) -> None:
            waiting.pop(self, None)
            if self._timer is not None:
                self._timer.cancel()

        def on_headers_complete(self) -> None:
            self._arrived()
            super().on_headers_complete()

        def handle_websocket_upgrade(self, *arguments: Any) -> None:
            self._arrived()
            super().handle_websocket_upgrade(*arguments)

        def connection_lost(self, exc: Exception | None) -> None:
            self._arrived()
            super().connection_lost(exc)

    return GuardedProtocol
