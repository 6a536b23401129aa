"""`Guard`: what every request passes before it reaches a route: size, origin, token, rate; and safe headers after."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_scheduler.server.problems import problem, unexpected
from hybrid_scheduler.settings import AppSettings, is_loopback

SAFE = ("GET", "HEAD", "OPTIONS")
UPLOADS = "/api/workloads"
UNLIMITED = ("/api/health",)  # whoever watches the service must always get an answer
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
POLICY = (
    "default-src 'self'; connect-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
Observe = Callable[[Scope, int, float], None]
Allow = Callable[[str, str], Awaitable[bool]]


class Guard:
    """ASGI middleware; plain, since it runs for every request."""

    def __init__(self, app: ASGIApp, settings: AppSettings, allow: Allow, observe: Observe) -> None:
        self.app, self.settings = app, settings
        self._allow, self._observe = allow, observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = perf_counter(), 500

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, scope["path"])
            await send(message)

        try:
            await self._answer(scope, receive, send_safely)
        finally:
            self._observe(scope, status, perf_counter() - begin)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        most = self._most_bytes(scope["method"], scope["path"])
        refusal = self._refused(scope["method"], scope["path"], headers, most) or await self._too_often(scope)
        if refusal:
            await problem(*refusal)(scope, receive, send)
            return
        try:
            await self.app(scope, self._limited(receive, most), send)
        except Exception as error:  # noqa: BLE001  # nobody foresaw it: logged under a number, and only that is told
            await unexpected(scope, error)(scope, receive, send)

    def _most_bytes(self, method: str, path: str) -> int:
        """Return how long a body may be: an upload has a limit of its own."""
        uploads = method == "POST" and path.rstrip("/") == UPLOADS
        return self.settings.max_upload_bytes if uploads else self.settings.max_body_bytes

    def _refused(self, method: str, path: str, headers: Headers, most: int) -> tuple[int, str, str] | None:
        if not host_known(headers, self.settings):
            return 403, "this is no name of this machine", "ask for localhost, or add the page to ALLOWED_ORIGINS"
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > most:
            return _too_large(most)
        if method in SAFE or not path.startswith("/api"):
            return None
        if not origin_allowed(headers, self.settings):
            return 403, "this page may not send orders", "add it to ALLOWED_ORIGINS"
        return self._without_token(headers)

    def _without_token(self, headers: Headers) -> tuple[int, str, str] | None:
        if not self.settings.needs_token:
            return None
        token = self.settings.token.get_secret_value()
        if not token:
            return 403, "orders are refused: the server listens beyond this machine and has no token", "set TOKEN"
        given = headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), token.encode()):
            return 401, "this order needs the control token", "send the header Authorization: Bearer TOKEN"
        return None

    async def _too_often(self, scope: Scope) -> tuple[int, str, str] | None:
        rate = self.settings.rate_limit
        if not rate or not scope["path"].startswith("/api") or scope["path"] in UNLIMITED:
            return None
        client = (scope.get("client") or ("unknown",))[0]
        if await self._allow(f"rate:{client}", rate):
            return None
        return 429, f"more requests than {rate}", "wait a little, or raise RATE_LIMIT"

    def _limited(self, receive: Receive, most: int) -> Receive:
        """Count what arrives, for bodies that do not say how long they are."""
        seen = 0

        async def counted() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > most:
                raise HTTPException(413, ": ".join(_too_large(most)[1:]))
            return message

        return counted


def _too_large(most: int) -> tuple[int, str, str]:
    return 413, f"the body is larger than {most} bytes", "send less"


def _add_headers(message: Message, path: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("content-security-policy", POLICY)
    if path.startswith("/api"):
        headers.setdefault("cache-control", "no-store")


def host_known(headers: Mapping[str, str], settings: AppSettings) -> bool:
    """Whether a request names this server as its own pages do.

    A page whose owner points its name at this machine would otherwise read everything: to the browser it is one site.
    """
    if not settings.loopback or "*" in settings.allowed_origins:
        return True
    named = _hostname(f"//{headers.get('host', '')}")
    return is_loopback(named) or named in map(_hostname, settings.allowed_origins)


def _hostname(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def origin_allowed(headers: Mapping[str, str], settings: AppSettings) -> bool:
    """Whether the page that sent a request may do so; programs other than browsers send no origin."""
    origin = headers.get("origin")
    if origin is None or "*" in settings.allowed_origins or origin in settings.allowed_origins:
        return True
    try:
        page = urlsplit(origin)
        named = page.hostname or ""
    except ValueError:
        return False
    # A foreign name that its owner points at this machine has the right Host header too, but is no loopback name.
    trusted = not settings.loopback or is_loopback(named)
    return trusted and bool(page.netloc) and page.netloc == headers.get("host")
