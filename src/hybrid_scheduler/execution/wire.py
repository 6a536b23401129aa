"""Messages between a device's process and its parent: many in one write, all that have come in one read."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable

LENGTH = struct.Struct("<Q")
CHUNK = 262_144  # bytes of one read
LARGE = 65_536  # bytes from which a message is written by itself rather than copied


class Wire:
    """One end of the socket."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._come = bytearray()

    def fileno(self) -> int:
        """Return the number that selectors know the socket by."""
        return self._socket.fileno()

    def send(self, messages: Iterable[bytes]) -> None:
        """Write messages, small ones together."""
        together = bytearray()
        for message in messages:
            together += LENGTH.pack(len(message))
            if len(message) < LARGE:
                together += message
                continue
            self._socket.sendall(together)
            self._socket.sendall(message)
            together.clear()
        if together:
            self._socket.sendall(together)

    def receive(self) -> list[bytes]:
        """Wait for something to come; return the messages that are whole by then, if any; EOFError at the end."""
        chunk = self._socket.recv(CHUNK)
        if not chunk:
            raise EOFError("the other end has hung up")
        self._come += chunk
        messages, begin = [], 0
        while len(self._come) - begin >= LENGTH.size:
            end = begin + LENGTH.size + LENGTH.unpack_from(self._come, begin)[0]
            if len(self._come) < end:
                break
            messages.append(bytes(memoryview(self._come)[begin + LENGTH.size : end]))
            begin = end
        del self._come[:begin]
        return messages

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
