"""What all answers and requests have in common."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

LARGEST_ID = 2**53 - 1  # what a browser can count to; both databases can count further
LARGEST_SIZE = 1e6
LARGEST_MEMORY = 1e9  # MB


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def without_titles(schema: dict[str, Any]) -> None:
    """Drop the titles that repeat a field's name: they make type generators give every field a type of its own."""
    for field in schema.get("properties", {}).values():
        field.pop("title", None)


Number = Annotated[float | None, BeforeValidator(_finite)]
"""A number; null where it does not apply or is not known."""

Id = Annotated[int, Field(ge=0, le=LARGEST_ID)]


class Schema(BaseModel):
    """An answer: every field is always there."""

    model_config = ConfigDict(
        from_attributes=True, json_schema_serialization_defaults_required=True, json_schema_extra=without_titles
    )


class Request(Schema):
    """A request: unknown fields and numbers written as text are refused rather than guessed at."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


_MEANINGS = {
    400: "A setting or name that does not exist or cannot be used; the message names it.",
    401: "The control token is missing or wrong.",
    403: "This page may not send orders, or the server has no control token.",
    404: "It is not there.",
    409: "Not in the present state: no simulation has been started, or another one is under way.",
    413: "The body is too large.",
    422: "A value that cannot be used; the message names it.",
    429: "Too many requests.",
    503: "The database does not answer.",
}
_EVERYWHERE = (422, 429, 503)
ORDER = (400, 401, 403, 409, 413)
"""What can happen to any order, beside what can happen to any request."""


class Problem(Schema):
    """What went wrong and what to do next."""

    kind: str = Field(description="Kind of error.", examples=["not_found"])
    message: str = Field(description="One line.", examples=["run 7 is not in this database: …"])
    hint: str = Field(description="The next step.", examples=["the list of runs shows what is there"])
    detail: Any = Field(description="More, such as all wrong fields; null if there is no more.", examples=[None])


class ErrorAnswer(Schema):
    """The answer to a request that failed."""

    error: Problem


def errors(*codes: int) -> dict[int | str, dict[str, Any]]:
    """Return what OpenAPI says about the errors of an endpoint; some can happen everywhere."""
    return {code: {"model": ErrorAnswer, "description": _MEANINGS[code]} for code in sorted({*codes, *_EVERYWHERE})}
