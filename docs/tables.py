"""Write the tables that the docs take from the code: `python docs/tables.py` rewrites, `--check` only compares."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from hybrid_scheduler import registry
from hybrid_scheduler.core.metrics import MEASURES
from hybrid_scheduler.pipeline.config import render_config
from hybrid_scheduler.reports.gallery import list_figures
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.settings import load_settings, settings_table
from hybrid_scheduler.workloads.formats.reader import load_formats
from hybrid_scheduler.workloads.generator import PRESETS

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results.json"
CONFIG = HERE.parent / "config.yaml"


def schedulers() -> str:
    """Return the table of policies."""
    rows = [f"| `{each.name}` | {each.clairvoyant} | {each.summary} |" for each in registry.schedulers.entries]
    return "\n".join(["| name | knows times | decides by |", "|---|---|---|", *rows])


def measures() -> str:
    """Return the table of measures."""
    rows = [
        f"| `{name}` | {each.unit} | {each.meaning}{'' if each.less_is_better else ' (more is better)'} |"
        for name, each in MEASURES.items()
    ]
    return "\n".join(["| name | unit | meaning |", "|---|---|---|", *rows])


def presets() -> str:
    """Return the table of presets."""
    rows = [f"| `{name}` | {each.num_tasks} | {each.summary} |" for name, each in PRESETS.items()]
    return "\n".join(["| preset | tasks | what it is |", "|---|---|---|", *rows])


def benchmarks() -> str:
    """Return the last table of `make bench`."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    machine = results.pop("_machine", {})
    rows = []
    for name, row in results.items():
        sign = "≤" if row.get("at_most") else "≥"
        reached = "yes" if row["ok"] else "**no**"
        rows.append(
            f"| `{name}` | {row['ours']:.4g} | {row['theirs']:.4g} | {row['unit']} | {row['ratio']:.3g} "
            f"| {sign} {row['target']:g} | {reached} |"
        )
    head = ["| row | ours | theirs | unit | ratio | target | reached |", "|---|---|---|---|---|---|---|"]
    words = ", ".join(f"{key} {value}" for key, value in machine.items())
    return "\n".join([*head, *rows, "", f"Measured on: {words}."])


def settings() -> str:
    """Return the table of the service's settings."""
    return settings_table().strip()


def routes() -> str:
    """Return the table of the service's REST paths."""
    paths = create_app(load_settings()).openapi()["paths"]
    rows = [
        f"| `{method.upper()} {path}` | {operation['summary']} |"
        for path, operations in paths.items()
        for method, operation in operations.items()
    ]
    return "\n".join(["| path | what it does |", "|---|---|", *sorted(rows, key=lambda row: row.split(" ")[2])])


def figures() -> str:
    """Return the table of figures."""
    rows = [f"| `{each.name}` | {each.summary} | {each.requirement} |" for each in list_figures()]
    return "\n".join(["| figure | shows | needs |", "|---|---|---|", *rows])


def formats() -> str:
    """Return the table of formats."""
    rows = [
        f"| `{each.name}` | {each.summary} | {each.companions or 'none'} |".replace("\n", " ")
        for each in load_formats()
    ]
    return "\n".join(["| format | what it is | further files |", "|---|---|---|", *rows])


def mappings() -> str:
    """Return what every column of every format becomes."""
    parts: list[str] = []
    for form in load_formats():
        if parts and form.mapping == load_formats()[0].mapping:
            continue  # our two tables have the same columns
        rows = [
            f"| {_code(each.column)} | {_code(each.becomes)} | {each.ground} | {_escaped(each.note)} |"
            for each in form.mapping
        ]
        names = " and ".join(f"`{each.name}`" for each in load_formats() if each.mapping == form.mapping)
        parts += [f"### {names}", "", "| column | becomes | ground | |", "|---|---|---|---|", *rows, ""]
    return "\n".join(parts).strip()


def _code(text: str) -> str:
    return f"`{_escaped(text)}`" if text else "–"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


TABLES = {
    "formats": formats,
    "mappings": mappings,
    "figures": figures,
    "schedulers": schedulers,
    "measures": measures,
    "presets": presets,
    "benchmarks": benchmarks,
    "settings": settings,
    "routes": routes,
}


def filled(text: str) -> str:
    """Return a page with every table between its two markers written anew."""

    def write(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- {name} -->\n\n{TABLES[name]()}\n\n<!-- end -->"

    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end -->", write, text, flags=re.DOTALL)


def main() -> None:
    """Rewrite the pages, or exit with 1 if one of them is out of date."""
    stale = []
    for page in (*sorted(HERE.glob("*.md")), CONFIG):
        before = page.read_text(encoding="utf-8") if page.exists() else ""
        after = render_config() if page == CONFIG else filled(before)
        if before != after:
            stale.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(after, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.exit(f"out of date: {', '.join(stale)}; run make docs")


if __name__ == "__main__":
    main()
