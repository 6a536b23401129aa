"""`FloatOrNaN`: a number that is NaN where it does not apply, and null in JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

NAN = float("nan")


class NullAsNaN:
    """Tells pydantic how to read and describe such a number; core itself does not import pydantic."""

    @staticmethod
    def __get_pydantic_core_schema__(source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        read = {"type": "no-info", "function": lambda value: NAN if value is None else value}
        return {"type": "function-before", "function": read, "schema": handler(source)}

    @staticmethod
    def __get_pydantic_json_schema__(
        schema: dict[str, Any], handler: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        return {"anyOf": [handler(schema["schema"]), {"type": "null"}]}


FloatOrNaN = Annotated[float, NullAsNaN]
