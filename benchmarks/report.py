"""The table and results.json."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.rows import Row

RESULTS = Path(__file__).with_name("results.json")


def show(rows: list[Row]) -> None:
    """Print the table, in at most 80 columns."""
    about = machine()
    versions = ", ".join(f"{name} {about[name]}" for name in ("python", "numpy", "numba"))
    caption = f"{about['processor']}, {about['cores']} cores\n{versions}"
    table = Table(box=box.SIMPLE_HEAD, title="ratio = ours / theirs", caption=caption, width=80)
    table.add_column("benchmark", overflow="fold")
    for heading in ("ours", "theirs"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for heading in ("ratio", "target", "ok"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_cells(row))
    Console().print(table)


def _cells(row: Row) -> tuple[str, ...]:
    sign = "≤" if row.at_most else "≥"
    verdict = "[green]yes[/green]" if row.ok else "[bold red]NO[/bold red]"
    figures = _short(row.ours), _short(row.theirs), row.unit, _short(row.ratio)
    return row.name, *figures, f"{sign} {row.target:g}", verdict


def _short(value: float) -> str:
    """Write a number with three digits, such as 24.9 M."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:#.3g}".rstrip(".") + f" {letter}"
    return f"{value:#.3g}".rstrip(".")


def write(rows: list[Row], *, merge: bool, failed: Collection[str] = ()) -> None:
    """Write the rows to results.json; `merge` keeps the rows of earlier runs, but not those that now failed."""
    old: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if merge and RESULTS.exists() else {}
    kept = {name: row for name, row in old.items() if name not in failed}
    data = kept | {"_machine": machine()} | {row.name: row.to_dict() for row in rows}
    RESULTS.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def machine() -> dict[str, str | int]:
    """Say what the rows were measured on."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()
