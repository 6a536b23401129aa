"""Requests to language models: Azure's traces of 2023 and 2024, BurstGPT (CSV) and Mooncake (a JSON object a line).

They tell when a request came and its tokens; only BurstGPT with a column `Elapsed time` tells how long it took.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_scheduler.core.tasks import Floats, Tasks
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.workloads.formats import columns
from hybrid_scheduler.workloads.formats.columns import RowFilter
from hybrid_scheduler.workloads.formats.reader import ASSUMED, IGNORED, MEASURED, Format, Imported, Mapped
from hybrid_scheduler.workloads.formats.tables import (
    NO_TASKS,
    NUMBER,
    TEXT,
    Table,
    prefix_errors,
    read_table,
    require_row_limit,
)
from hybrid_scheduler.workloads.formats.unpack import BYTE_ORDER_MARK, open_unpacked

LAYOUTS = (
    ("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
    ("Timestamp", "Request tokens", "Response tokens"),
    ("timestamp", "input_length", "output_length"),
)
"""Names of arrival, tokens of the request and tokens of the answer: of Azure, BurstGPT and Mooncake."""
MOONCAKE = LAYOUTS[2]
MILLISECONDS = 1e-3  # seconds of Mooncake's unit of time
ELAPSED = "Elapsed time"
NAMES = {"Model": "model", "Session ID": "session", "Log Type": "log_type"}  # columns of text, and their features
BLOCKS = "hash_ids"
MAXIMUM = 1e15
PREFILL, DECODE = 1e-4, 2e-2
"""Seconds for a token of the request and of the answer where none are known: orders of magnitude of a large model."""

MAPPING = (
    Mapped("TIMESTAMP; Timestamp; timestamp", "arrival_time", MEASURED, "dates; seconds; Mooncake: ms"),
    Mapped(
        "ContextTokens; Request tokens; input_length", "size, feature_context_tokens", MEASURED, "size: at least 1"
    ),
    Mapped(
        "GeneratedTokens; Response tokens; output_length",
        "feature_generated_tokens",
        MEASURED,
        "0: the request failed and is skipped; not known before it has run",
    ),
    Mapped(ELAPSED, "time_gpu", MEASURED, "seconds, with the wait for the service; `inf` on a CPU"),
    Mapped(
        "tokens",
        "duration_estimate",
        ASSUMED,
        "without Elapsed time: 0.1 ms a token of the request, 20 ms of the answer",
    ),
    Mapped("", "time_<class>", ASSUMED, "without Elapsed time by the formulas from duration_estimate: not measured"),
    Mapped("Model, Session ID, Log Type", "feature_model, …", MEASURED, "their numbers in alphabetical order"),
    Mapped(BLOCKS, "feature_blocks, feature_known_blocks", MEASURED, "how many; how many an earlier request had"),
    Mapped("", "compute_intensity, memory_required", ASSUMED, "0.5 and 0: not in the files"),
    Mapped("Total tokens, any other", "", IGNORED),
)


def sniff(head: bytes) -> bool:
    """Whether the first line names the columns of such a table, or is a request of Mooncake."""
    first = head.removeprefix(BYTE_ORDER_MARK).lstrip().split(b"\n", 1)[0]
    if first.startswith(b"{"):
        return all(f'"{name}"'.encode() in first for name in MOONCAKE)
    return _find_layout(columns.parse_header(head)) is not None


def _find_layout(header: Sequence[str] | set[str]) -> tuple[str, str, str] | None:
    return next((each for each in LAYOUTS if set(each) <= set(header)), None)


def _read(path: Path, _: Sequence[Path]) -> Imported:
    with open_unpacked(path) as file:
        is_json = file.read(100).removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{")
    table = _read_lines(path) if is_json else read_table(path, _select_columns)
    layout = _find_layout(list(table.columns)) or MOONCAKE
    with table.locate_errors():
        arrival = table.numbers(layout[0]) * MILLISECONDS if is_json else columns.parse_seconds(table, layout[0])
        context, answer = (_read_tokens(table, name) for name in layout[1:])
        requests = RowFilter(table.rows)
        requests.skip(~np.isfinite(arrival), "arrival not known")
        requests.skip(np.isnan(context) | np.isnan(answer), "number of tokens not known")
        requests.skip(answer == 0, "failed: no token was generated")
        elapsed = columns.parse_seconds(table, ELAPSED) if ELAPSED in table.columns else None
        if elapsed is not None:
            columns.require_values(ELAPSED, elapsed, ~(elapsed < 0) & ~np.isinf(elapsed), "seconds, 0 or more")
            requests.skip(np.isnan(elapsed), "duration not known")
            requests.skip(elapsed == 0, "took 0 s")
        rows = requests.rows
        features = {"context_tokens": context, "generated_tokens": answer, **_read_features(table)}
        seconds = PREFILL * context + DECODE * answer if elapsed is None else elapsed
        impossible = np.full(len(rows), np.inf)
        tasks = Tasks.build(
            size=np.maximum(context[rows], 1.0),
            compute_intensity=np.full(len(rows), 0.5),
            memory_required=np.zeros(len(rows)),
            arrival_time=columns.since_first(arrival[rows]),
            duration_estimate=seconds[rows],
            measured={} if elapsed is None else {"cpu": impossible, "gpu": elapsed[rows]},
            features={name: column[rows] for name, column in features.items()},
        )
    return Imported(tasks, table.rows, requests.skipped)


def _select_columns(header: list[str]) -> dict[str, str]:
    layout = _find_layout(header)
    if layout is None:
        known = " or ".join(", ".join(each) for each in LAYOUTS)
        raise InputError(f"found {columns.format_names(header)}: needed are {known}")
    texts = (layout[0], *(name for name in (ELAPSED, *NAMES) if name in header))
    return {**dict.fromkeys(texts, TEXT), **dict.fromkeys(layout[1:], NUMBER)}


def _read_tokens(table: Table, name: str) -> Floats:
    tokens = table.numbers(name)
    columns.require_values(name, tokens, ~((tokens < 0) | (tokens > MAXIMUM)), "a number of tokens, 0 or more")
    return tokens


def _read_features(table: Table) -> dict[str, Floats]:
    texts = {NAMES[name]: table.columns[name] for name in NAMES if name in table.columns}
    found = {name: columns.encode_strings(column).codes.astype(float) for name, column in texts.items()}
    return found | {name: table.columns[name] for name in ("blocks", "known_blocks") if name in table.columns}


def _read_lines(path: Path) -> Table:
    """Read a JSON object a line; an error names the line."""
    found = {name: array("d") for name in (*MOONCAKE, "blocks", "known_blocks")}
    lines, seen = array("q"), set[int]()
    with prefix_errors(path), open_unpacked(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                request = _parse_request(path, number, line.removeprefix(BYTE_ORDER_MARK))
                blocks = set(request[BLOCKS])
                values = [float(request[name]) for name in MOONCAKE]
                for name, value in zip(found, (*values, len(blocks), len(blocks & seen)), strict=True):
                    found[name].append(value)
                seen |= blocks
                lines.append(number)
                require_row_limit(path, len(lines))
    if not lines:
        raise InputError(f"{path}{NO_TASKS}")
    table = {name: np.array(column) for name, column in found.items()}
    return Table(path, len(lines), table, lines.__getitem__)


def _parse_request(path: Path, number: int, line: bytes) -> dict[str, Any]:
    """Parse a line: an object with a number from 0 on for every name of Mooncake, and a list of blocks or none."""
    try:
        request: dict[str, Any] = {BLOCKS: [], **json.loads(line)}
        blocks = request[BLOCKS]
        valid = all(type(request[name]) in (int, float) and 0 <= request[name] < MAXIMUM for name in MOONCAKE)
        valid = valid and isinstance(blocks, list) and all(isinstance(each, int) for each in blocks)
    except (ValueError, TypeError, KeyError, RecursionError):
        valid = False
    if not valid:
        raise InputError(
            f"{path} line {number} is no request: expected a JSON object with {', '.join(MOONCAKE)} from 0 on"
        )
    return request


FORMAT = Format("llm", "requests to language models: Azure 2023 and 2024, BurstGPT, Mooncake", MAPPING, sniff, _read)
