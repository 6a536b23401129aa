"""`Check`: one thing that was looked at; `looked_at` turns a look into one, whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "note", "fail"]


@dataclass(frozen=True)
class Check:
    """What was found, and what to do about it; a note asks for nothing, a failure keeps something from working."""

    name: str
    state: State
    found: str
    advice: str = ""


def looked_at(name: str, look: Callable[[], Check]) -> Check:
    """Look at one thing; a look that fails in a way nobody foresaw is a finding too, and the others go on."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001  # the doctor is called when anything may be broken
        lines = str(error).strip().splitlines() or [""]
        return Check(
            name, "fail", f"{type(error).__name__}: {lines[0]}", "report it with the output of hms doctor --json"
        )
