"""The page of the messages on `/ws`, from the JSON Schema that the service itself serves."""

from __future__ import annotations

from docs.reference.markdown import join
from docs.reference.schemas import definition
from hybrid_scheduler.server.messages import schema

INTRODUCTION = (
    "`/ws` sends these as JSON, one after another; `/api/schema/ws` is their JSON Schema. It listens only for the "
    "end of the connection: orders go through [HTTP](http.md). How to come back after a break, and what a slow "
    "client misses, stands in [the live service](../service.md#websocket)."
)


def page() -> str:
    """Return the page."""
    made = schema()
    sent = [each["$ref"].rsplit("/", 1)[-1] for each in made["oneOf"]]
    parts = sorted(set(made["$defs"]) - set(sent))
    listed = [definition(name, made["$defs"][name]) for name in sent]
    within = [definition(name, made["$defs"][name]) for name in parts]
    return join("# WebSocket messages", INTRODUCTION, "## Messages", *listed, "## What they are made of", *within)
