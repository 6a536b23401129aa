"""Errors of the live service beside those of the libraries below it."""

from __future__ import annotations

from secrets import token_hex
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from loguru import logger
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Scope

from hybrid_scheduler.errors import InputError, SchedulerError, UnknownNameError
from hybrid_scheduler.server.encoding import to_bytes
from hybrid_scheduler.storage.database import ClaimedError, StorageError


class ConflictError(SchedulerError):
    """Something that cannot be done in the present state."""


class BusyError(SchedulerError):
    """Something that could not be done in time."""


KINDS = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "too_large",
    415: "unsupported",
    422: "invalid",
    429: "too_many_requests",
    500: "internal",
    503: "unavailable",
}
_STATUS: tuple[tuple[type[SchedulerError], int], ...] = (
    (ClaimedError, 409),
    (StorageError, 503),
    (BusyError, 503),
    (InputError, 400),
    (UnknownNameError, 400),
)


def problem(
    status: int, message: str, hint: str = "", detail: Any = None, headers: dict[str, str] | None = None
) -> Response:
    """Return an error as the API writes it; what stands behind the first colon of a message is its hint."""
    hint = hint or message.partition(": ")[2]
    shape = {"kind": KINDS.get(status, "error"), "message": message, "hint": hint, "detail": detail}
    if status in (401, 429):
        headers = {**({"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "1"}), **(headers or {})}
    return Response(to_bytes({"error": shape}), status, headers, "application/json")


def status_of(error: SchedulerError) -> int:
    """Return the status code of an error that a user can act on; what fits no class is a wrong moment."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 409)


def add_handlers(app: FastAPI) -> None:
    """Let an app answer every error in the one shape."""
    app.add_exception_handler(SchedulerError, _scheduler_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)


async def _scheduler_error(_request: Request, error: Exception) -> Response:
    if not isinstance(error, SchedulerError):
        raise error
    return problem(status_of(error), " ".join(str(error).split()))


async def _invalid(_request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    found = [
        {"field": ".".join(map(str, each["loc"])), "message": str(each["msg"]), "type": str(each["type"])}
        for each in error.errors()
    ]
    first = found[0]
    return problem(422, f"{first['field']}: {first['message']}", "see /docs for what is expected", found)


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    message = str(error.detail)
    if error.status_code == 404 and message == "Not Found":
        return problem(404, f"{request.url.path} does not exist", "see /docs for what there is")
    return problem(error.status_code, message, headers=dict(error.headers) if error.headers else None)


def unexpected(scope: Scope, error: Exception) -> Response:
    """Log what nobody foresaw under a number, and tell only the number."""
    number = token_hex(4)
    logger.opt(exception=error).error(f"error {number} in {scope['method']} {scope['path']}")
    return problem(500, f"something went wrong here (error {number})", f"look for {number} in the log")
