"""The page of the messages on `/ws`, from the JSON Schema that the service itself serves."""

from __future__ import annotations

from docs.reference.markdown import join
from docs.reference.schemas import render_definition
from hybrid_scheduler.server.schemas.messages import schema

INTRODUCTION = (
    "`/ws` sends these as JSON, one after another; `/api/schema/ws` is their JSON Schema. It reads only the "
    "end of the connection: commands go through [HTTP](http.md). How to reconnect, and what a slow client misses, "
    "is in [the live service](../service.md#websocket)."
)


def page() -> str:
    """Return the page."""
    document = schema()
    sent = [each["$ref"].rsplit("/", 1)[-1] for each in document["oneOf"]]
    parts = sorted(set(document["$defs"]) - set(sent))
    messages = [render_definition(name, document["$defs"][name]) for name in sent]
    objects = [render_definition(name, document["$defs"][name]) for name in parts]
    return join("# WebSocket messages", INTRODUCTION, "## Messages", *messages, "## Objects", *objects)
