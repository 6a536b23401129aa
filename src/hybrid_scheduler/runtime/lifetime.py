"""The end of a scheduler: its work is done first, then its workers end, also if nobody has called `shutdown`."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hybrid_scheduler.runtime.dispatcher import Dispatcher

_open: set[Lifetime] = set()  # whose workers are alive


class Lifetime:
    """Ends the workers of a dispatcher; knows nothing of the scheduler, which may be dropped before its work is done.

    `on_closed` is called once, when the workers have ended.
    """

    def __init__(self, dispatcher: Dispatcher, on_closed: Callable[[], None]) -> None:
        self._dispatcher, self._on_closed = dispatcher, on_closed
        self._lock, self._is_closed = threading.Lock(), False
        self._thread: threading.Thread | None = None
        self._at_end: list[Callable[[], None]] = []
        _open.add(self)

    def on_end(self, function: Callable[[], None]) -> None:
        """Call a function when the workers have ended."""
        self._at_end.append(function)

    def finish(self) -> None:
        """Wait for all work, then end the workers; an interrupt while waiting ends them at once."""
        try:
            self._dispatcher.finish()
        finally:
            self.close()

    def finish_later(self) -> None:
        """Do the same in a thread of its own; may be called again."""
        with self._lock:
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self.finish, name="hybrid-scheduler-end", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """End the workers now; calls that have not ended fail. May be called again."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._dispatcher.backend.close()
        self._dispatcher.abandon()
        _open.discard(self)
        self._on_closed()
        for each in self._at_end:
            each()


def _finish_all() -> None:
    """Finish the work of every scheduler that was not shut down, as executors of the standard library do."""
    try:
        for each in list(_open):
            each.finish()
    finally:
        for each in list(_open):
            each.close()


# Not `atexit`: when its functions run, no thread and no process can be started any more.
threading._register_atexit(_finish_all)  # type: ignore[attr-defined]  # as concurrent.futures does
