"""Errors for users: one line that names the thing, the alternatives and the next step."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SchedulerError(Exception):
    """An error that the user can correct; the message is one line and ends with the next step."""


class InputError(SchedulerError, ValueError):
    """An invalid task, cluster, file or option."""


class RowError(InputError):
    """An invalid row of tasks; readers translate the row to a line of their file."""

    def __init__(self, row: int, message: str) -> None:
        self.row = row
        self.reason = message
        super().__init__(f"row {row}: {message}")


class UnknownNameError(SchedulerError, LookupError):
    """A name that is in no registry, preset or setting."""


class PolicyError(SchedulerError):
    """A scheduler with a decision that no device can execute, or one that cannot be compiled."""


def check_number(name: str, value: float, least: float, most: float, whole: bool = False) -> None:
    """Refuse what is no number, or none within its limits; they keep later arithmetic finite."""
    is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        kind = "a whole number" if whole else "a number"
        raise InputError(f"{name} is {repr(value)[:40]}, expected {kind} from {least:.16g} to {most:.16g}")


def unknown_name(kind: str, name: str, known: Iterable[str], hint: str = "") -> UnknownNameError:
    """Build the error for an unknown name: the closest match, the known names and a hint."""
    names = sorted(known)
    if not names:
        return UnknownNameError(
            f"unknown {kind} '{name}': there is none to choose from{f' ({hint})' if hint else ''}"
        )
    lower = {each.lower(): each for each in names}
    close = get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    guess = f"did you mean '{lower[close[0]]}'? " if close else ""
    tail = f" ({hint})" if hint else ""
    return UnknownNameError(f"unknown {kind} '{name}': {guess}known: {', '.join(names)}{tail}")
