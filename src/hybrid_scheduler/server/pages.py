"""The pages for a browser: the built dashboard, and an API reference without external scripts."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

WEB = Path(__file__).parents[1] / "web"
PAGES = ("experiments", "clusters", "workloads", "models", "tour")  # of the dashboard's own router
NOT_BUILT = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Hybrid ML Scheduler</title>'
    "<main><h1>The dashboard is not built</h1><p>Run <code>make dashboard</code> (it needs Node 20 or newer) and "
    'start the server again. The race is running: <a href="/api/comparison">its figures</a>, '
    '<a href="/docs">the API</a>.</p></main></html>'
)


class Dashboard(StaticFiles):
    """Serves the dashboard; files with a hash in their names are cached, the page is revalidated every time."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Serve a file; all pages of the dashboard are one HTML file."""
        response = await self._get_compressed("index.html" if path in PAGES else path, scope)
        immutable = path.startswith("assets/")
        response.headers["cache-control"] = "public, max-age=31536000, immutable" if immutable else "no-cache"
        response.headers["vary"] = "accept-encoding"
        return response

    async def _get_compressed(self, path: str, scope: Scope) -> Response:
        """Serve the compressed copy of a file if there is one and the browser accepts it."""
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
    """Mount the dashboard, after all other routes; if it is not built, a page says how to build it."""
    if (folder / "index.html").is_file():
        app.mount("/", Dashboard(directory=folder, html=True), name="dashboard")
        return

    @app.get("/", include_in_schema=False)
    async def not_built() -> Response:
        return HTMLResponse(NOT_BUILT, headers={"cache-control": "no-cache"})


STYLE = """
:root { color-scheme: dark light; }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem; font: 16px/1.5 system-ui, sans-serif; }
section { border-top: 1px solid #46536b; padding: .6rem 0; }
h2 { font: 600 1rem ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
p, dl { margin: .3rem 0; } dt { font-family: ui-monospace, monospace; } dd { margin: 0 0 .3rem 1.5rem; }
"""


def add_reference(app: FastAPI) -> None:
    """Serve the API reference at `/docs`."""

    @app.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    async def docs() -> HTMLResponse:
        return HTMLResponse(render_reference(app.openapi()))


def render_reference(schema: dict[str, Any]) -> str:
    """Return the reference as an HTML page."""
    parts = ""
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            parts += _render_operation(method, path, operation)
    title = escape(schema["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: API</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<main><h1>{title}: API</h1><p>{escape(schema['info'].get('summary', ''))}</p>"
        '<p>For programs: <a href="/api/openapi.json">OpenAPI</a>, <a href="/api/schema/ws">messages of /ws</a>. '
        f'<a href="/">Back to the race</a></p>{parts}</main></body></html>'
    )


def _render_operation(method: str, path: str, operation: dict[str, Any]) -> str:
    text = escape(operation.get("description") or operation["summary"])
    parameters = ""
    for each in operation.get("parameters", ()):
        default = each.get("schema", {}).get("default")
        note = each.get("description", "") + ("" if default is None else f" (default {default})")
        parameters += f"<dt>{escape(each['name'])}</dt><dd>{escape(note)}</dd>"
    answers = ", ".join(operation.get("responses", {}))
    return (
        f"<section><h2>{method.upper()} {escape(path)}</h2><p>{text}</p>"
        f"{f'<dl>{parameters}</dl>' if parameters else ''}<p>Answers: {escape(answers)}</p></section>"
    )
