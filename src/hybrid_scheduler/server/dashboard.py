"""The dashboard's files: built by `make dashboard` into the package, served from the same port as the API."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

WEB = Path(__file__).parents[1] / "web"
PAGES = ("experiments", "workloads", "models", "tour")  # of the dashboard's own router
MISSING = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Hybrid ML Scheduler</title>'
    "<main><h1>The dashboard is not built</h1><p>Run <code>make dashboard</code> (it needs Node 20 or newer) and "
    'start the server again. The race goes on meanwhile: <a href="/api/comparison">its figures</a>, '
    '<a href="/docs">the API</a>.</p></main></html>'
)


class Dashboard(StaticFiles):
    """Names with a hash in them never change; the page itself is asked for every time."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Serve a file; the page draws all pages of the dashboard."""
        response = await self._smallest("index.html" if path in PAGES else path, scope)
        fixed = path.startswith("assets/")
        response.headers["cache-control"] = "public, max-age=31536000, immutable" if fixed else "no-cache"
        response.headers["vary"] = "accept-encoding"
        return response

    async def _smallest(self, path: str, scope: Scope) -> Response:
        """Serve the compressed twin of a file if there is one and the browser takes it."""
        plain = await super().get_response(path, scope)
        if "gzip" not in Headers(scope=scope).get("accept-encoding", "") or plain.status_code != 200:
            return plain
        if not self.lookup_path(f"{path}.gz")[1]:
            return plain
        packed = await super().get_response(f"{path}.gz", scope)
        packed.headers["content-type"] = plain.headers["content-type"]
        packed.headers["content-encoding"] = "gzip"
        return packed


def mount_dashboard(app: FastAPI, folder: Path = WEB) -> None:
    """Mount the dashboard, last; where it is not built, say how to get it."""
    if (folder / "index.html").is_file():
        app.mount("/", Dashboard(directory=folder, html=True), name="dashboard")
        return

    async def missing() -> Response:
        return HTMLResponse(MISSING, headers={"cache-control": "no-cache"})

    app.get("/", include_in_schema=False)(missing)
