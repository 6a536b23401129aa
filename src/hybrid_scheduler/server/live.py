"""`/ws`: a client gets what the hub has, at its own speed."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fastapi import APIRouter, Query, WebSocket, WebSocketDisconnect

from hybrid_scheduler.server.hub import Client, Hub
from hybrid_scheduler.server.security import origin_allowed
from hybrid_scheduler.settings import AppSettings

router = APIRouter()
FORBIDDEN, FULL = 4403, 4429  # close codes


@router.websocket("/ws")
async def watch(
    websocket: WebSocket,
    cursor: str | None = Query(None, description="Number of the last message that was seen."),
    stream: str | None = Query(None, description="The stream it was numbered in."),
) -> None:
    """Send messages until the client goes away."""
    settings: AppSettings = websocket.app.state.settings
    hub: Hub = websocket.app.state.manager.hub
    if not origin_allowed(websocket.headers, settings):
        await websocket.close(FORBIDDEN, "this page may not connect: add it to ALLOWED_ORIGINS")
        return
    if len(hub.clients) >= settings.max_clients:
        await websocket.close(FULL, "too many clients: raise MAX_CLIENTS")
        return
    await websocket.accept()
    client = hub.join(int(cursor) if cursor and cursor.isdecimal() and len(cursor) < 20 else None, stream)
    try:
        await _serve(websocket, client)
    finally:
        hub.leave(client)


async def _serve(websocket: WebSocket, client: Client) -> None:
    """Send and read until either ends; without reading one never learns that a client has left."""
    tasks = [asyncio.create_task(_send(websocket, client)), asyncio.create_task(_read(websocket))]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _send(websocket: WebSocket, client: Client) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):  # Starlette's two ways to say that the client has left
        while True:
            await websocket.send_text(await client.next())


async def _read(websocket: WebSocket) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await websocket.receive()  # clients have nothing to say; orders go through REST
