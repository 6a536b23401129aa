"""JSON as the service writes it: NaN becomes null, and frames carry only the digits that a display can show."""

from __future__ import annotations

from collections import deque
from dataclasses import is_dataclass
from typing import Any

import orjson

_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def encode_json(value: object) -> bytes:
    """Encode plain data, dataclasses, named tuples and sets; NaN and infinity become null."""
    return orjson.dumps(value, option=_OPTIONS, default=_to_plain)


def _to_plain(value: object) -> object:
    if isinstance(value, deque | set | frozenset):
        return list(value)
    if hasattr(value, "_asdict"):
        return value._asdict()
    raise TypeError(f"{type(value).__name__} has no JSON")


def round_figure(value: float) -> float:
    """Return a figure with six significant digits."""
    return float(f"{value:.6g}")


def round_time(value: float) -> float:
    """Return simulated seconds to a tenth of a millisecond, so that times stay exact in long runs."""
    return round(value, 4)


def round_figures(value: Any) -> Any:
    """Return nested data and dataclasses as plain data, with figures of six significant digits."""
    if isinstance(value, float):
        return round_figure(value)
    if is_dataclass(value):
        return {name: round_figures(each) for name, each in vars(value).items()}
    if isinstance(value, dict):
        return {name: round_figures(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [round_figures(each) for each in value]
    return value
