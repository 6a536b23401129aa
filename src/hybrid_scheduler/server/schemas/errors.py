"""The one shape of all errors."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from hybrid_scheduler.server.schemas.base import Schema

_MEANINGS = {
    404: ("not_found", "It is not there."),
    409: ("conflict", "Not in the present state: no simulation has been started, or another one is under way."),
    422: ("invalid", "A value that cannot be used; the message names it."),
    503: ("unavailable", "The database does not answer."),
}


class ErrorAnswer(Schema):
    """What went wrong and what to do next."""

    error: str = Field(description="Kind of error.", examples=["not_found"])
    message: str = Field(description="One line: what is wrong, and the next step.")


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says about the errors of an endpoint; invalid values and a lost database are everywhere."""
    return {code: {"model": ErrorAnswer, "description": _MEANINGS[code][1]} for code in sorted({*codes, 422, 503})}
