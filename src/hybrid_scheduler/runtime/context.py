"""What a call takes along from the program: values of context variables; and what comes back: log records."""

from __future__ import annotations

import contextvars
import importlib
import logging
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from hybrid_scheduler.errors import InputError


def find_variable(spec: str) -> contextvars.ContextVar[Any]:
    """Return the context variable that `module:name` stands for."""
    module, _, name = spec.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not isinstance(found, contextvars.ContextVar):
        raise InputError(f"context '{spec}' is no context variable: write module:name of one that workers can import")
    return found


def capture(variables: Mapping[str, contextvars.ContextVar[Any]]) -> dict[str, Any]:
    """Return the values that variables have here, by `module:name`; those without one are left out."""
    here = contextvars.copy_context()
    return {spec: here[each] for spec, each in variables.items() if each in here}


def run_in_context(values: Mapping[str, Any], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function, in a worker, with these values of context variables."""

    def run() -> Any:
        for spec, value in values.items():
            find_variable(spec).set(value)
        return function(*args, **kwargs)

    return contextvars.copy_context().run(run)


class RecordSender(logging.Handler):
    """Sends the log records of a worker to its driver, where they are handled as if they were made there."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        super().__init__()
        self._send = send

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record; its message is made here, because its arguments may not be picklable."""
        fields = {**vars(record), "msg": record.getMessage(), "args": None, "exc_info": None}
        if record.exc_info:
            fields["exc_text"] = logging.Formatter().formatException(record.exc_info)
        plain = {
            name: each for name, each in fields.items() if isinstance(each, bool | int | float | str | type(None))
        }
        self._send(pickle.dumps(plain))


def handle_record(message: bytes) -> None:
    """Handle the log record of a worker in the driver."""
    record = logging.makeLogRecord(pickle.loads(message))  # noqa: S301  # from our own worker
    logger = logging.getLogger(record.name)
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)
