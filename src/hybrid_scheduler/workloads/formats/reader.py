"""Reads files of any known format: what a file is, is told by its first bytes, unpacked, never by its name."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hybrid_scheduler.core.tasks import Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.registry import Entry, Registry
from hybrid_scheduler.workloads.formats import memory, unpack
from hybrid_scheduler.workloads.formats.format import Format, Imported

FALLBACK = "csv"
"""What is nothing else is taken for CSV, whose reader says what is wrong with it."""

NAMES = (
    *("parquet", "csv", "alibaba", "swf", "philly", "requests"),
    *("wfcommons", "etc", "kernels", "starpu", "gavel"),
)
"""Formats of this package, each in the module of its name; those that come first are asked first."""


def _builtin(name: str) -> Entry:
    return Entry(name, f"hybrid_scheduler.workloads.formats.{name}:FORMAT")


formats = Registry(
    "format",
    "hybrid_scheduler.formats",
    tuple(map(_builtin, NAMES)),
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
    head = unpack.head(path)
    return next((each for each in known() if each.sniff(head)), None)


def format_of(path: str | Path) -> str:
    """Return the name of the format of a file."""
    return sniffed(path).name


def sniffed(path: str | Path) -> Format:
    """Return the format of a file; one that only goes with others is refused."""
    form = told(path)
    if form is None:
        head = unpack.head(path)
        for each in known():
            if each.accompanies and each.accompanies(head):
                raise InputError(f"{path} goes with a file of the format {each.name}: give that file too")
        if head.lstrip().startswith((b"{", b"[")):
            raise InputError(f"{path} is JSON of no known kind, known are {', '.join(NAMES)}: name one with --format")
    return form or format_named(FALLBACK)


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
    return next(iter(found.values()))[0] if found else sniffed(paths[0])


def read_all(paths: Sequence[str | Path], name: str = "") -> Imported:
    """Read a file with those that belong to it, such as pods with a list of nodes, in any order."""
    form = format_for(paths, name)
    if len(paths) > 1 and not form.companions:
        raise InputError(f"{paths[1]}: the format {form.name} takes one file: give {paths[0]} alone")
    files = [Path(path) for path in paths]
    main = next((each for each in files if len(files) > 1 and form.sniff(unpack.head(each))), files[0])
    with _uncollected(), memory.explained(main):
        return form.read(main, [each for each in files if each is not main])


@contextmanager
def _uncollected() -> Iterator[None]:
    """Let the garbage collector rest: a document of millions of objects, none in a cycle, is read twice as fast."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read(path: str | Path) -> Tasks:
    """Read tasks from a file of any known format."""
    return read_all([path]).tasks
