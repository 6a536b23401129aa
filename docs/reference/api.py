"""The page of the HTTP API, from the OpenAPI document that the service serves."""

from __future__ import annotations

from typing import Any

from docs.reference.markdown import code, join, table
from docs.reference.schemas import render_definition, type_text
from hybrid_scheduler.server.app import create_app
from hybrid_scheduler.settings import load_settings

INTRODUCTION = (
    "The service ([the live service](../service.md)) describes itself at `/docs` and, for programs, at "
    "`/api/openapi.json`; this page is the same. Requests that change something need the control token where one is "
    "set ([security](../security.md)). Errors have one shape: [ErrorAnswer](#schema-erroranswer)."
)


def page() -> str:
    """Return the page."""
    document = create_app(load_settings()).openapi()
    parts = [
        _render_operation(method, path, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    ]
    schemas = [render_definition(name, each) for name, each in sorted(document["components"]["schemas"].items())]
    return join("# HTTP API", INTRODUCTION, "## Requests", *parts, "## Objects", *schemas)


def _render_operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        (code(each["name"]), each["in"], type_text(each["schema"]), each.get("description", ""))
        for each in operation.get("parameters", ())
    ]
    responses = [
        (code(status), _describe_content(each), each["description"])
        for status, each in operation["responses"].items()
    ]
    token = "Needs the control token where one is set." if operation.get("security") else ""
    body = operation.get("requestBody")
    return join(
        f"### {method.upper()} {path}",
        f"**{operation['summary']}.** {operation.get('description', '')} {token}".strip(),
        f"Body: {_describe_content(body)}." if body else "",
        table(("parameter", "in", "type", "meaning"), rows),
        table(("response", "body", "when"), responses),
    )


def _describe_content(holder: dict[str, Any]) -> str:
    return ", ".join(
        type_text(each["schema"]) if kind == "application/json" and each.get("schema") else code(kind)
        for kind, each in holder.get("content", {}).items()
    )
