"""The process behind a local device: reads calls from a socket, performs them, writes answers.

A plain `python -m` of this module: unlike `multiprocessing` it never runs the caller's main script again, so
scripts need no guard. When the other end is closed, it ends.
"""

from __future__ import annotations

import os
import pickle
import socket
import struct
import sys
from collections.abc import Iterator

from hybrid_scheduler.execution.performing import Performer, pin
from hybrid_scheduler.execution.wire import Wire

REQUEST = struct.Struct("<qdI")  # number, intensity, length of the function
ANSWER = struct.Struct("<qBdd")  # number, outcome, start, end
READY = -1


def serve(wire: Wire) -> None:
    """Perform calls until the parent hangs up; an answer goes before the next call begins."""
    messages = _messages(wire)
    spec, paths, cores = pickle.loads(next(messages))  # noqa: S301  # our parent wrote it
    pin(cores)
    sys.path[:] = paths
    performer = Performer(spec)
    wire.send([ANSWER.pack(READY, 0, 0.0, 0.0)])
    head = REQUEST.size
    for message in messages:
        number, intensity, length = REQUEST.unpack_from(message)
        function, arguments = message[head : head + length], message[head + length :]
        outcome, start, end, payload = performer.perform(function, arguments, intensity)
        wire.send([ANSWER.pack(number, outcome, start, end) + payload])


def _messages(wire: Wire) -> Iterator[bytes]:
    while True:
        yield from wire.receive()


if __name__ == "__main__":
    # Calls look for this module under its own name; there must be only one of it.
    from hybrid_scheduler.execution import worker

    try:
        worker.serve(Wire(socket.socket(fileno=int(sys.argv[1]))))
    except (EOFError, OSError):
        os._exit(0)  # the parent has hung up: threads of libraries must not keep the process alive
