"""Base classes of requests and responses, and the errors that OpenAPI lists."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hybrid_scheduler.live.settings import MAX_SEED

MAX_ID = MAX_SEED  # as large: both are integers that a browser can hold
Id = Annotated[int, Field(ge=0, le=MAX_ID)]


def _none_if_not_finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_none_if_not_finite)]
"""A number; null where it does not apply or is not known."""


class Schema(BaseModel):
    """A response: every field is always there.

    Fields may be plain dataclasses of other packages; their attribute docstrings become descriptions too.
    """

    model_config = ConfigDict(
        from_attributes=True, use_attribute_docstrings=True, json_schema_serialization_defaults_required=True
    )


class Request(Schema):
    """A request body: unknown fields and numbers written as text are refused rather than guessed at."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


_MEANINGS = {
    400: "A setting or name that does not exist or cannot be used; the message names it.",
    401: "The control token is missing or wrong.",
    403: "This page may not send commands, or the server has no control token.",
    404: "It is not there.",
    409: "Not in the present state: no simulation has been started, or another one is under way.",
    413: "The body is too large.",
    422: "A value that cannot be used; the message names it.",
    429: "Too many requests.",
    503: "The database does not answer.",
}
_EVERYWHERE = (422, 429, 503)
COMMAND = (400, 401, 403, 409, 413)
"""Errors of any command, in addition to those of any request."""


class Problem(Schema):
    """What went wrong and what to do next."""

    kind: str = Field(description="Kind of error.", examples=["not_found"])
    message: str = Field(description="One line.", examples=["run 7 is not in this database: …"])
    hint: str = Field(description="The next step.", examples=["the list of runs shows what is there"])
    detail: Any = Field(description="More, such as all wrong fields; null if there is no more.", examples=[None])


class ErrorAnswer(Schema):
    """The response to a request that failed."""

    error: Problem


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors of an endpoint for OpenAPI; some can happen everywhere."""
    return {code: {"model": ErrorAnswer, "description": _MEANINGS[code]} for code in sorted({*codes, *_EVERYWHERE})}


def tidy_definition(schema: dict[str, Any]) -> None:
    """Drop titles that repeat a field's name, from which generators make a type per field, and unused defaults."""
    for name, field in schema.get("properties", {}).items():
        field.pop("title", None)
        if name in schema.get("required", ()):
            field.pop("default", None)


class Removed(Schema):
    """What was deleted."""

    removed: str = Field(examples=["upload:trace.csv"])
