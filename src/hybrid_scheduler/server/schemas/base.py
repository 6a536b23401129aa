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
