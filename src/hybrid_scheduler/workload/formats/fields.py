"""Fields of JSON objects, checked: what is not what it should be is named."""

from __future__ import annotations

from typing import Any

from hybrid_scheduler.errors import InputError

MOST = 1e300
"""What a number must stay below."""


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise InputError(f"{what} is no JSON object: this is another kind of file, or a damaged one")
    return value


def mappings(holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of JSON objects; empty if it is missing."""
    values = holder.get(key, [])
    if not isinstance(values, list):
        raise InputError(f"'{key}' is no list: this is another kind of file, or a damaged one")
    what = f"an entry of '{key}'"
    return [each if isinstance(each, dict) else mapping(each, what) for each in values]


def name(holder: dict[str, Any], key: str) -> str:
    """Return a name that fits on a line."""
    value = holder.get(key)
    if not isinstance(value, str) or not value.isprintable() or not value:
        raise InputError(f"'{key}' is {value!r:.40}, expected a name")
    return value


def names(holder: dict[str, Any], key: str) -> list[str]:
    """Return a list of names; empty if it is missing."""
    values = holder.get(key, [])
    if not isinstance(values, list) or not _is_text(values):
        raise InputError(f"'{key}' is no list of names: correct it")
    return values


def _is_text(values: list[Any]) -> bool:
    """Whether all are words that fit on a line; looked at together, as there are many such lists."""
    try:
        return "".join(values).isprintable()
    except TypeError:
        return False


def number(holder: dict[str, Any], key: str, default: float | None = None) -> float:
    """Return a number, 0 or more; the default if it is missing."""
    value = holder.get(key, default)
    if type(value) is float and 0 <= value < MOST:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < MOST:
        who = holder.get("id") or holder.get("name") or "an entry"
        raise InputError(f"{who!r:.80}: {key} is {value!r:.40}, expected a number, 0 or more")
    return float(value)
