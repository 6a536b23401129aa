"""Write the API's own description (OpenAPI and the messages of /ws) for the dashboard's types; `--check` compares."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.server.messages import schema

FOLDER = Path(__file__).parents[1] / "schema"


def documents() -> dict[str, dict[str, Any]]:
    """Return the files and what belongs into them."""
    openapi = create_app().openapi()
    openapi["info"].pop("version")  # a new version of the program alone changes no type
    return {"openapi.json": openapi, "ws.json": schema()}


def text_of(document: dict[str, Any]) -> str:
    """Return a document as it is written."""
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def stale() -> list[str]:
    """Return the files that are not what the server says today."""
    paths = {FOLDER / name: text_of(each) for name, each in documents().items()}
    return [path.name for path, text in paths.items() if not path.exists() or path.read_text("utf-8") != text]


def main() -> int:
    """Write or check."""
    if "--check" in sys.argv:
        if old := stale():
            sys.stderr.write(f"not what the server says today: {', '.join(old)}; run make types\n")
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name, document in documents().items():
        (FOLDER / name).write_text(text_of(document), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
