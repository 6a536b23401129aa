"""Reference pages, written from the code whenever the site is built: they cannot be out of date."""

from __future__ import annotations

from docs.reference import api, commands, lists, messages, python

PAGES = {
    "reference/commands.md": commands.page,
    "reference/http.md": api.page,
    "reference/websocket.md": messages.page,
    "reference/settings.md": lists.settings,
    "reference/schedulers.md": lists.schedulers,
    "reference/workloads.md": lists.workloads,
    "reference/formats.md": lists.formats,
    "reference/measures.md": lists.measures,
    "reference/figures.md": lists.figures,
    "reference/python.md": python.page,
}
"""Where a page stands in the site, and what writes it."""
