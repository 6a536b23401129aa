"""A wheel or an sdist holds the built dashboard or is not built at all; an editable install does without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("src/hybrid_scheduler/web/index.html")


class DashboardHook(BuildHookInterface[Any]):
    """Refuses to pack what would show no page."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Look for the page before anything is packed."""
        if version != "editable" and not (Path(self.root) / PAGE).is_file():
            raise SystemExit(f"{PAGE} is missing: build it with make dashboard (needs Node 20), or run make wheel")
