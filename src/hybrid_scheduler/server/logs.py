"""Logs: console and a rotated file, as text or JSON; other libraries' lines come along, secrets do not."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from loguru import logger

from hybrid_scheduler.server.websocket import Hub
from hybrid_scheduler.settings import AppSettings

if TYPE_CHECKING:
    from loguru import Message, Record

CONSOLE = "<dim>{time:HH:mm:ss}</dim> <level>{level: <7}</level> {message}"
FILE = "{time:YYYY-MM-DD HH:mm:ss.SSS} {level: <7} {name}: {message}"
ROTATION, RETENTION = "10 MB", 5
QUIET = ("uvicorn", "websockets", "aiosqlite", "alembic")  # their everyday lines would drown ours
MASK = "•••"


def set_up_logs(settings: AppSettings) -> None:
    """Send all log lines where the settings say."""
    logger.remove()
    logger.configure(patcher=_masked(settings.secrets))
    options: dict[str, Any] = {
        "level": settings.log_level,
        "serialize": settings.log_json,
        "backtrace": False,
        "diagnose": False,  # would print the values of variables, secrets among them
    }
    logger.add(sys.stderr, format=CONSOLE, **options)
    if settings.log_file is not None:
        logger.add(settings.log_file, format=FILE, rotation=ROTATION, retention=RETENTION, **options)
    logging.basicConfig(handlers=[_Intercept()], level=logging.INFO, force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def show_logs_to(hub: Hub) -> int:
    """Send log lines to everyone who watches, too; returns a number for `logger.remove`."""

    def show(message: Message) -> None:
        record = message.record
        line = record["message"].partition("\n")[0]  # a traceback is nobody else's business
        hub.publish_soon("log", level=record["level"].name, message=line, source=record["name"] or "")

    return logger.add(show, level="INFO", format="{message}")


def _masked(secrets: list[str]) -> Callable[[Record], None]:
    """Return what takes secrets out of a line, and passwords out of the addresses that hold them."""
    words = {form for secret in secrets for each in (secret, _password(secret)) if each for form in _forms(each)}
    longest_first = sorted(words, key=len, reverse=True)

    def hidden(text: str) -> str:
        for word in longest_first:
            text = text.replace(word, MASK)
        return text

    def mask(record: Record) -> None:
        record["message"] = hidden(record["message"])
        if (caught := record["exception"]) is None:
            return
        told = "".join(traceback.format_exception(*caught))
        if (safe := hidden(told)) != told:
            record["message"] += f"\n{safe}"
            record["exception"] = None

    return mask


def _forms(secret: str) -> list[str]:
    """Return how a secret may be written: as it is or within an address; short ones would hide plain words."""
    return [each for each in {secret, quote(secret, ""), unquote(secret)} if len(each) > 3]


def _password(address: str) -> str | None:
    try:
        return urlsplit(address).password if "://" in address else None
    except ValueError:
        return None


class _Intercept(logging.Handler):
    """Hands lines of the standard logging on to Loguru."""

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line."""
        level: str | int = record.levelname if record.levelname in _LEVELS else record.levelno
        text = record.getMessage()

        def rename(line: Record) -> None:
            line["name"] = record.name

        logger.patch(rename).opt(exception=record.exc_info).log(level, "{}", text)


_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
