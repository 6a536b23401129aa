"""`src.dashboard_server_v2` of the guide: another name for `src.dashboard_server`."""

from .dashboard_server import app  # type: ignore[import-not-found]  # to the checker this folder is a root, no package

__all__ = ["app"]
