"""JSON as the service writes it: NaN becomes null, and frames carry no more digits than people can see."""

from __future__ import annotations

from collections import deque
from dataclasses import is_dataclass
from typing import Any

import orjson


def to_bytes(value: object) -> bytes:
    """Write JSON; dataclasses are welcome, NaN and infinity become null."""
    return orjson.dumps(value, option=_OPTIONS, default=_plain)


def figure(value: float) -> float:
    """Return a figure with six significant digits."""
    return float(f"{value:.6g}")


def moment(value: float) -> float:
    """Return simulated seconds to a tenth of a millisecond, however long a run has been going on."""
    return round(value, 4)


def brief(value: Any) -> Any:
    """Return plain data with six significant digits, of data and dataclasses in one another."""
    if isinstance(value, float):
        return figure(value)
    if is_dataclass(value):
        return {name: brief(each) for name, each in vars(value).items()}
    if isinstance(value, dict):
        return {name: brief(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [brief(each) for each in value]
    return value


_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


def _plain(value: object) -> object:
    if isinstance(value, deque | set | frozenset):
        return list(value)
    if hasattr(value, "_asdict"):
        return value._asdict()
    raise TypeError(f"{type(value).__name__} has no JSON")
