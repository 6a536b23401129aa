"""Errors of the service, and the one shape in which every error is returned."""

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
from hybrid_scheduler.server.encoding import encode_json
from hybrid_scheduler.storage.database import ClaimedError, StorageError


class ConflictError(SchedulerError):
    """A command that does not fit the present state."""


class BusyError(SchedulerError):
    """A command that was not executed in time."""


KINDS = {
    400: "invalid",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
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


def problem_response(
    status: int, message: str, hint: str = "", detail: Any = None, headers: dict[str, str] | None = None
) -> Response:
    """Return an error in the API's shape; the text after the first colon of a message is its hint."""
    hint = hint or message.partition(": ")[2]
    error = {"kind": KINDS.get(status, "error"), "message": message, "hint": hint, "detail": detail}
    if status in (401, 429):
        headers = {**({"WWW-Authenticate": "Bearer"} if status == 401 else {"Retry-After": "1"}), **(headers or {})}
    return Response(encode_json({"error": error}), status, headers, "application/json")


def http_status(error: SchedulerError) -> int:
    """Return the status code of an error that a user can act on; 409 if no class says otherwise."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 409)


def add_handlers(app: FastAPI) -> None:
    """Return every error of an app in the one shape."""
    app.exception_handler(SchedulerError)(_on_scheduler_error)
    app.exception_handler(RequestValidationError)(_on_invalid_request)
    app.exception_handler(HTTPException)(_on_http_error)


async def _on_scheduler_error(_request: Request, error: SchedulerError) -> Response:
    return problem_response(http_status(error), " ".join(str(error).split()))


async def _on_invalid_request(_request: Request, error: RequestValidationError) -> Response:
    found = [
        {"field": ".".join(map(str, each["loc"])), "message": str(each["msg"]), "type": str(each["type"])}
        for each in error.errors()
    ]
    first = found[0]
    return problem_response(422, f"{first['field']}: {first['message']}", "see /docs for what is expected", found)


async def _on_http_error(request: Request, error: HTTPException) -> Response:
    message = str(error.detail)
    if error.status_code == 404 and message == "Not Found":
        return problem_response(404, f"{request.url.path} does not exist", "see /docs for what there is")
    return problem_response(error.status_code, message, headers=dict(error.headers) if error.headers else None)


def internal_error(scope: Scope, error: Exception) -> Response:
    """Log an unforeseen error under a number, and return only the number."""
    number = token_hex(4)
    logger.opt(exception=error).error(f"error {number} in {scope['method']} {scope['path']}")
    return problem_response(500, f"something went wrong here (error {number})", f"look for {number} in the log")
