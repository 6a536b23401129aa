"""Write the API's own description (OpenAPI, messages of /ws, schedulers) for the dashboard; `--check` compares."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybrid_scheduler import registry
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.schemas.messages import schema

FOLDER = Path(__file__).parents[1] / "schema"


def documents() -> dict[str, Any]:
    """Return the files and what belongs into them."""
    openapi = create_app().openapi()
    openapi["info"].pop("version")  # a new version of the program alone changes no type
    names = [each.name for each in registry.schedulers.entries]
    schedulers = [{"name": name, **asdict(each)} for name, each in registry.describe(names).items()]
    return {"openapi.json": openapi, "ws.json": schema(), "schedulers.json": schedulers}


def to_text(document: Any) -> str:
    """Return a document as it is written."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def find_stale() -> list[str]:
    """Return the files that are not what the server says today."""
    paths = {FOLDER / name: to_text(each) for name, each in documents().items()}
    return [path.name for path, text in paths.items() if not path.exists() or path.read_text("utf-8") != text]


def main() -> int:
    """Write or check."""
    if "--check" in sys.argv:
        if old := find_stale():
            sys.stderr.write(f"not what the server says today: {', '.join(old)}; run make types\n")
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name, document in documents().items():
        (FOLDER / name).write_text(to_text(document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
