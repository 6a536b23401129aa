"""JSON Schemas in words: a type in few characters, an object as a table of its fields."""

from __future__ import annotations

from typing import Any

from docs.reference.markdown import code, join, table

Schema = dict[str, Any]
LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def anchor(name: str) -> str:
    """Return the anchor below which a named schema stands on its page."""
    return f"schema-{name.lower()}"


def words(schema: Schema) -> str:
    """Return a type in words; named ones are links."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{anchor(name)})"
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(map(words, schema[several])))
    if "const" in schema or "enum" in schema:
        return " or ".join(code(value) for value in schema.get("enum", [schema.get("const")]))
    return _plain(schema)


def _plain(schema: Schema) -> str:
    kind = schema.get("type", "anything")
    if kind == "array":
        listed = [words(each) for each in schema.get("prefixItems", ())]
        return f"list ({', '.join(listed)})" if listed else f"list of {words(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {words(schema['additionalProperties'])}"
    limits = [f"{sign} {schema[key]}" for key, sign in LIMITS.items() if key in schema]
    return f"{kind} {', '.join(limits)}".strip()


def fields(schema: Schema) -> str:
    """Return the fields of an object as a table."""
    required = schema.get("required", ())
    rows = [
        (code(name), words(each), "yes" if name in required else _default(each), each.get("description", ""))
        for name, each in schema.get("properties", {}).items()
    ]
    return table(("field", "type", "required", "meaning"), rows)


def _default(schema: Schema) -> str:
    return f"no ({code(schema['default'])})" if "default" in schema else "no"


def definition(name: str, schema: Schema, level: str = "###") -> str:
    """Return a named schema under its own heading."""
    heading = f"{level} {name} {{ #{anchor(name)} }}"
    alias = "" if "properties" in schema else f"A value: {words(schema)}."
    return join(heading, schema.get("description", ""), fields(schema) or alias)
