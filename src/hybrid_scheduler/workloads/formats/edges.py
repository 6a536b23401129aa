"""Turns what files say about parents into edges between rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from hybrid_scheduler.core.tasks import Edges, Ints, edges_from_ids
from hybrid_scheduler.errors import RowError
from hybrid_scheduler.workloads.formats.checked import WHOLE_NUMBER

DEPENDENCIES, MEGABYTES = "dependencies", "dependency_megabytes"
_BETWEEN = re.compile(r"\s*[;,]\s*|\s+")


def edges_from_text(ids: Ints | None, parents: Any, megabytes: Any | None) -> Edges | None:
    """Read columns such as `1;2` and `0.5;3`; none if no task waits for another."""
    import pyarrow.compute as pc

    if not any(pc.max(pc.binary_length(each)).as_py() for each in (parents, megabytes) if each is not None):
        return None
    given = np.arange(len(parents)) if ids is None else ids
    return _plain_edges(given, parents, megabytes) or _careful_edges(given, parents, megabytes)


def _plain_edges(ids: Ints, parents: Any, megabytes: Any | None) -> Edges | None:
    """Read ids and numbers with `;` between them all at once; none if something is written otherwise."""
    import pyarrow as pa

    try:
        start, parent_ids = _lists(parents, pa.int64())
        starts, weights = (start, np.zeros(len(parent_ids))) if megabytes is None else _lists(megabytes, pa.float64())
    except pa.ArrowInvalid:
        return None
    order = np.argsort(ids, kind="stable")
    rows = order[np.searchsorted(ids[order], parent_ids).clip(max=len(ids) - 1)]
    usable = np.array_equal(start, starts) and np.array_equal(ids[rows], parent_ids)
    if not usable or not np.all((weights >= 0) & (weights < np.inf)):
        return None
    return Edges(start, rows.astype(np.int64), weights)


def _lists(column: Any, kind: Any) -> tuple[Ints, Any]:
    """Split text at `;` into numbers: where each row's begin, and all of them."""
    import pyarrow.compute as pc

    filled = column.combine_chunks()
    lengths = pc.binary_length(filled).to_numpy()
    split = pc.split_pattern(filled, ";")
    counts = np.where(lengths > 0, pc.list_value_length(split).to_numpy(), 0)
    values = pc.list_flatten(split.filter(pc.greater(pc.binary_length(filled), 0)))
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), values.cast(kind).to_numpy()


def _careful_edges(ids: Ints, parents: Any, megabytes: Any | None) -> Edges:
    each = [parents_of(row, cell) if cell else [] for row, cell in enumerate(parents.to_pylist())]
    cells = [] if megabytes is None else megabytes.to_pylist()
    weights = [megabytes_of(row, cell, len(each[row])) for row, cell in enumerate(cells)]
    return edges_from_ids(ids.tolist(), each, weights or None)


def parents_of(row: int, cell: str) -> list[int]:
    """Read the ids of parents as people write them."""
    text = cell.strip().removesuffix(".0")  # a spreadsheet may write single ids as 1.0
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    parts = _BETWEEN.split(text) if text else []
    if all(WHOLE_NUMBER.fullmatch(part) for part in parts):
        return [int(part) for part in parts]
    raise RowError(row, f"dependencies are '{cell[:40]}', expected task ids such as 1;2")


def megabytes_of(row: int, cell: str | Sequence[float], count: int) -> Sequence[float]:
    """Read the megabytes that come from each of `count` parents; nothing at all means 0 from each."""
    given = _numbers(cell) if isinstance(cell, str) else list(cell)
    if not given:
        return [0.0] * count
    if len(given) != count or not all(0 <= each < np.inf for each in given):
        raise RowError(row, f"dependency_megabytes are '{str(cell)[:40]}', expected {count} numbers such as 0.5;3")
    return given


def _numbers(cell: str) -> list[float]:
    text = cell.strip().removeprefix("[").removesuffix("]").strip()
    try:
        return [float(part) for part in _BETWEEN.split(text)] if text else []
    except ValueError:
        return [np.nan]  # refused by what counts and checks them
