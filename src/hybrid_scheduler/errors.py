"""Errors that a user can act on: one line that names the thing, the alternatives and the next step."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SchedulerError(Exception):
    """Something the user can put right; the message is one line and ends with what to do next."""


class InputError(SchedulerError, ValueError):
    """A task, cluster, file or option that cannot be used."""


class RowError(InputError):
    """A row of tasks that cannot be used; readers turn the row into a line of their file."""

    def __init__(self, row: int, message: str) -> None:
        self.row = row
        self.reason = message
        super().__init__(f"row {row}: {message}")


class UnknownNameError(SchedulerError, LookupError):
    """A name that no registry, preset or setting knows."""


class PolicyError(SchedulerError):
    """A scheduler that answered with something which no device can do."""


def unknown_name(kind: str, name: str, known: Iterable[str], hint: str = "") -> UnknownNameError:
    """Build the error for a mistyped name: what it looks like, what there is, where to read more."""
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
