"""Logging to the console and a rotated file, as text or JSON, without secrets; includes the standard logging."""

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
QUIET = ("uvicorn", "websockets", "aiosqlite", "alembic")  # only their warnings are of interest
MASK = "•••"


def configure_logging(settings: AppSettings) -> None:
    """Set up all log handlers from the settings."""
    logger.remove()
    logger.configure(patcher=_build_mask(settings.secrets))
    options: dict[str, Any] = {
        "level": settings.log_level,
        "serialize": settings.log_json,
        "backtrace": False,
        "diagnose": False,  # would print the values of variables, including secrets
    }
    logger.add(sys.stderr, format=CONSOLE, **options)
    if settings.log_file is not None:
        logger.add(settings.log_file, format=FILE, rotation=ROTATION, retention=RETENTION, **options)
    logging.basicConfig(handlers=[_Intercept()], level=logging.INFO, force=True)
    for name in QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def stream_logs(hub: Hub) -> int:
    """Send log lines to the clients of `/ws` too; returns a handler id for `logger.remove`."""

    def publish(message: Message) -> None:
        record = message.record
        line = record["message"].partition("\n")[0]  # without a traceback
        hub.publish_soon("log", level=record["level"].name, message=line, source=record["name"] or "")

    return logger.add(publish, level="INFO", format="{message}")


def _build_mask(secrets: list[str]) -> Callable[[Record], None]:
    """Return a patcher that masks secrets in a record, and passwords of the URLs that hold them."""
    words = {secret for whole in secrets for secret in (whole, _find_password(whole)) if secret}
    spellings = {each for word in words for each in (word, quote(word, ""), unquote(word))}
    # Not short ones, which would mask plain words.
    longest_first = sorted((each for each in spellings if len(each) > 3), key=len, reverse=True)

    def hide(text: str) -> str:
        for word in longest_first:
            text = text.replace(word, MASK)
        return text

    def mask(record: Record) -> None:
        record["message"] = hide(record["message"])
        if (caught := record["exception"]) is None:
            return
        trace = "".join(traceback.format_exception(*caught))
        if (safe := hide(trace)) != trace:
            record["message"] += f"\n{safe}"
            record["exception"] = None

    return mask


def _find_password(url: str) -> str | None:
    try:
        return urlsplit(url).password if "://" in url else None
    except ValueError:
        return None


class _Intercept(logging.Handler):
    """Forwards the standard logging to Loguru."""

    def emit(self, record: logging.LogRecord) -> None:
        """Forward one record."""
        named = record.levelname in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
        level: str | int = record.levelname if named else record.levelno

        def rename(line: Record) -> None:
            line["name"] = record.name

        logger.patch(rename).opt(exception=record.exc_info).log(level, "{}", record.getMessage())
