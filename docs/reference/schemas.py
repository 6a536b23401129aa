"""JSON Schemas as Markdown: a type as short text, an object as a table of its fields."""

from __future__ import annotations

from typing import Any

from docs.reference.markdown import code, join, table

Schema = dict[str, Any]
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def anchor(name: str) -> str:
    """Return the anchor of a named schema on its page."""
    return f"schema-{name.lower()}"


def type_text(schema: Schema) -> str:
    """Return a type as text; named ones are links."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{anchor(name)})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(type_text, schema[several])))
    if "const" in schema or "enum" in schema:
        return " or ".join(code(value) for value in schema.get("enum", [schema.get("const")]))
    return _plain_text(schema)


def _plain_text(schema: Schema) -> str:
    kind = schema.get("type", "anything")
    if kind == "array":
        items = [type_text(each) for each in schema.get("prefixItems", ())]
        return f"list ({', '.join(items)})" if items else f"list of {type_text(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {type_text(schema['additionalProperties'])}"
    limits = [f"{sign} {schema[key]}" for key, sign in LIMITS.items() if key in schema]
    return f"{kind} {', '.join(limits)}".strip()


def render_fields(schema: Schema) -> str:
    """Return the fields of an object as a table."""
    required = schema.get("required", ())
    rows = [
        (code(name), type_text(each), "yes" if name in required else _default_text(each), each.get("description", ""))
        for name, each in schema.get("properties", {}).items()
    ]
    return table(("field", "type", "required", "meaning"), rows)


def _default_text(schema: Schema) -> str:
    return f"no ({code(schema['default'])})" if "default" in schema else "no"


def render_definition(name: str, schema: Schema, level: str = "###") -> str:
    """Return a named schema under its own heading."""
    heading = f"{level} {name} {{ #{anchor(name)} }}"
    alias = "" if "properties" in schema else f"A value: {type_text(schema)}."
    return join(heading, schema.get("description", ""), render_fields(schema) or alias)
