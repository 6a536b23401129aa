"""The page `/docs`: every path of the API in words, made from the OpenAPI schema; needs no script and no network."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

STYLE = """
:root { color-scheme: dark light; }
body { max-width: 60rem; margin: 0 auto; padding: 1.5rem; font: 16px/1.5 system-ui, sans-serif; }
section { border-top: 1px solid #46536b; padding: .6rem 0; }
h2 { font: 600 1rem ui-monospace, monospace; margin: 0; overflow-wrap: anywhere; }
p, dl { margin: .3rem 0; } dt { font-family: ui-monospace, monospace; } dd { margin: 0 0 .3rem 1.5rem; }
"""


def add_reference(app: FastAPI) -> None:
    """Serve the page."""

    @app.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    async def docs() -> HTMLResponse:
        return HTMLResponse(page(app.openapi()))


def page(schema: dict[str, Any]) -> str:
    """Return the reference as one HTML page."""
    parts = [
        _operation(method, path, operation)
        for path, operations in schema["paths"].items()
        for method, operation in operations.items()
    ]
    title = escape(schema["info"]["title"])
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: API</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>'
        f"<main><h1>{title}: API</h1><p>{escape(schema['info'].get('summary', ''))}</p>"
        '<p>For programs: <a href="/api/openapi.json">OpenAPI</a>, <a href="/api/schema/ws">messages of /ws</a>. '
        f'<a href="/">Back to the race</a></p>{"".join(parts)}</main></body></html>'
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    said = escape(operation.get("description") or operation["summary"])
    listed = "".join(_parameter(each) for each in operation.get("parameters", ()))
    answers = ", ".join(operation.get("responses", {}))
    return (
        f"<section><h2>{method.upper()} {escape(path)}</h2><p>{said}</p>"
        f"{f'<dl>{listed}</dl>' if listed else ''}<p>Answers: {escape(answers)}</p></section>"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    said = parameter.get("description", "")
    default = parameter.get("schema", {}).get("default")
    usual = "" if default is None else f" (default {default})"
    return f"<dt>{escape(parameter['name'])}</dt><dd>{escape(f'{said}{usual}')}</dd>"
