"""Where reference data lies that tests read in place; tests on it are skipped only where that folder is missing."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("HMS_DATA") or Path(__file__).parents[4] / "shared" / "data")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no folder of reference data (set HMS_DATA)")


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table, as text."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def references() -> dict[str, dict[str, float]]:
    """Return bounds and best known values of instances, by their names."""
    table = rows(DATA / "braun_etc" / "rcmax_reference.csv")
    return {row.pop("instance"): {key: float(value) for key, value in row.items()} for row in table}
