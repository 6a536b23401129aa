"""Reads files of any known format: what a file is, is told by its first bytes, unpacked, never by its name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybrid_scheduler.errors import InputError
from hybrid_scheduler.model.tasks import Tasks
from hybrid_scheduler.registry import Entry, Registry
from hybrid_scheduler.workload.formats import opening
from hybrid_scheduler.workload.formats.format import Format, Imported

FALLBACK = "csv"
"""What is nothing else is taken for CSV, whose reader says what is wrong with it."""


def _builtin(name: str) -> Entry:
    return Entry(name, f"hybrid_scheduler.workload.formats.{name}:FORMAT")


formats = Registry(
    "format",
    "hybrid_scheduler.formats",
    tuple(map(_builtin, ("parquet", "csv", "wfcommons", "etc", "kernels", "starpu", "gavel"))),
    hint="docs/formats.md says what each is",
)
"""By name; the first that knows the first bytes of a file reads it."""


def format_named(name: str) -> Format:
    """Return a format by its name."""
    found: Format = formats.load(name)
    return found


def known() -> list[Format]:
    """Return all formats, in the order in which they are asked."""
    return [format_named(name) for name in formats.table]


def told(path: str | Path) -> Format | None:
    """Return the format that knows the first bytes of a file; none if no format does."""
    head = opening.head(path)
    return next((each for each in known() if each.sniff(head)), None)


def sniffed(path: str | Path) -> Format:
    """Return the format of a file."""
    return told(path) or format_named(FALLBACK)


def format_of(path: str | Path) -> str:
    """Return the name of the format of a file."""
    return sniffed(path).name


def format_for(paths: Sequence[str | Path], name: str = "") -> Format:
    """Return the one format of files that belong together: the named one, or the one they tell."""
    if not paths:
        raise InputError("there is no file to read: give the path of one")
    if name:
        return format_named(name)
    found = {each.name: (each, path) for path in paths if (each := told(path))}
    if len(found) > 1:
        said = ", ".join(f"{path} is {name}" for name, (_, path) in found.items())
        raise InputError(f"{said}: read files of different formats one after the other")
    return next(iter(found.values()))[0] if found else format_named(FALLBACK)


def read_all(paths: Sequence[str | Path], name: str = "") -> Imported:
    """Read a file with those that belong to it, such as pods with a list of nodes, in any order."""
    form = format_for(paths, name)
    first, *others = map(Path, paths)
    if others and not form.companions:
        raise InputError(f"{others[0]}: the format {form.name} takes one file: give {first} alone")
    return form.read(first, others)


def read(path: str | Path) -> Tasks:
    """Read tasks from a file of any known format."""
    return read_all([path]).tasks
