"""Connections: how many there may be, and how long one may take to send its request."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from loguru import logger
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEADER_SECONDS = 10.0  # from the connection to the end of its first headers
HURRIED_SECONDS = 2.0  # the same for an address that has more open requests than `PATIENT` already
PATIENT = 64
RESERVE = 128  # open files that are no connections: database, logs, uploads, child processes
WANTED_FILES = 65_536


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

    class GuardedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
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
