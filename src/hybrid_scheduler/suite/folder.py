"""The folder of a scoreboard: tables for people and programs, and a manifest that says how they were made."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from hybrid_scheduler import __version__
from hybrid_scheduler.errors import InputError
from hybrid_scheduler.files import sha256
from hybrid_scheduler.runs import MANIFEST, SCHEMA, environment, read_manifest, require_intact, to_json
from hybrid_scheduler.suite.markdown import write_markdown
from hybrid_scheduler.suite.scoreboard import Scoreboard, write_csv

KIND = "scoreboard"
MARKDOWN, CSV, PNG = "scoreboard.md", "scoreboard.csv", "scoreboard.png"


def write(board: Scoreboard, folder: Path, command: Sequence[str], passed_over: Mapping[str, str]) -> None:
    """Write the tables and the manifest into a folder that is being made."""
    write_csv(board, folder / CSV)
    write_markdown(board, folder / MARKDOWN, command, passed_over)
    manifest = {
        "schema": SCHEMA,
        "kind": KIND,
        "version": __version__,
        "command": list(command),
        "sha256": {CSV: sha256(folder / CSV)},
        "environment": environment(),
    }
    (folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")


def is_scoreboard(directory: str | Path) -> bool:
    """Whether a folder says of itself that it holds a scoreboard."""
    return bool(read_manifest(directory).get("kind") == KIND)


def read_rows(directory: str | Path) -> list[dict[str, str]]:
    """Return the lines of a kept scoreboard, one for every instance, policy and seed."""
    if not is_scoreboard(directory):
        raise InputError(f"{directory} holds no scoreboard: give the folder of hms bench-suite --out")
    table = Path(directory) / CSV
    require_intact(table, read_manifest(directory))
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
