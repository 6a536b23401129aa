"""`Beside`: something that goes on in a thread while a block of code runs."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self


class Beside:
    """Base of those who watch a soak; `_over` tells their thread to stop."""

    patience = 10.0  # seconds for the thread to end

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=type(self).__name__, daemon=True)

    def _watch(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(self.patience)
