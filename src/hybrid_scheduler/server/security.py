"""`SecurityMiddleware`: checks host, size, origin, token and rate of every request, and adds safe headers."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from time import perf_counter
from urllib.parse import urlsplit

from loguru import logger
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hybrid_scheduler.server.problems import internal_error, problem_response
from hybrid_scheduler.settings import AppSettings, is_loopback

WRONG_TOKEN = 401
GUESSES, GUESS_SECONDS = "10/minute", 1.0  # wrong tokens of an address that are answered at once; then the delay
BODY_SECONDS = 30.0  # that a client may take for the next part of its body
SAFE = ("GET", "HEAD", "OPTIONS")
UPLOADS = "/api/workloads"
UNLIMITED = ("/api/health",)  # monitoring must always get an answer
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "content-security-policy": "default-src 'self'; connect-src 'self'; img-src 'self' data: blob:; style-src 'self' "
    "'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
}
_RAW = {name.encode(): value.encode() for name, value in HEADERS.items()}
_RAW_API = {**_RAW, b"cache-control": b"no-store"}
Observe = Callable[[Scope, int, float], None]
Allow = Callable[[str, str], Awaitable[bool]]
Refusal = tuple[int, str, str]  # status, message, hint


class SecurityMiddleware:
    """Plain ASGI middleware, since it runs for every request."""

    def __init__(self, app: ASGIApp, settings: AppSettings, allow: Allow, observe: Observe) -> None:
        self.app, self.settings = app, settings
        self._allow, self._observe = allow, observe
        self.wrong_tokens = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = perf_counter(), 500

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], list(message.get("headers", ()))
                given = {name for name, _ in headers}
                safe = _RAW_API if scope["path"].startswith("/api") else _RAW
                message["headers"] = headers + [each for each in safe.items() if each[0] not in given]
            await send(message)

        try:
            await self._handle(scope, receive, send_safely)
        finally:
            self._observe(scope, status, perf_counter() - start)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], scope["path"]
        is_upload = method == "POST" and path.rstrip("/") == UPLOADS
        limit = self.settings.max_upload_bytes if is_upload else self.settings.max_body_bytes
        refusal = self._check_request(method, path, Headers(scope=scope), limit) or await self._check_rate(scope)
        if refusal and refusal[0] == WRONG_TOKEN:
            refusal = await self._slow_down(scope, refusal)
        if refusal:
            await problem_response(*refusal)(scope, receive, send)
            return
        try:
            await self.app(scope, _limit_body(receive, limit), send)
        except Exception as error:  # noqa: BLE001  # whatever a route raises is logged, not shown
            await internal_error(scope, error)(scope, receive, send)

    def _check_request(self, method: str, path: str, headers: Headers, limit: int) -> Refusal | None:
        if not is_known_host(headers, self.settings):
            return 403, "this is no name of this machine", "ask for localhost, or add the page to ALLOWED_ORIGINS"
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > limit:
            return _too_large(limit)
        if method in SAFE or not path.startswith("/api"):
            return None
        if not is_allowed_origin(headers, self.settings):
            return 403, "this page may not send commands", "add it to ALLOWED_ORIGINS"
        if not self.settings.needs_token:
            return None
        token = self.settings.token.get_secret_value()
        if not token:
            return 403, "commands are refused: the server listens beyond this machine and has no token", "set TOKEN"
        given = headers.get("authorization", "").removeprefix("Bearer ").strip()
        if not hmac.compare_digest(given.encode(), token.encode()):
            return WRONG_TOKEN, "this command needs the control token", "send the header Authorization: Bearer TOKEN"
        return None

    async def _slow_down(self, scope: Scope, refusal: Refusal) -> Refusal:
        """Count and log a wrong token; an address that guesses waits for every answer, and then gets none."""
        client = (scope.get("client") or ("unknown",))[0]
        self.wrong_tokens += 1
        if await self._allow(f"token:{client}", GUESSES):
            logger.warning(f"a wrong control token from {client}, {self.wrong_tokens} since the start")
            return refusal
        await asyncio.sleep(GUESS_SECONDS)
        return 429, f"more wrong tokens than {GUESSES}", "wait a minute, and look up the token"

    async def _check_rate(self, scope: Scope) -> Refusal | None:
        rate = self.settings.rate_limit
        if not rate or not scope["path"].startswith("/api") or scope["path"] in UNLIMITED:
            return None
        client = (scope.get("client") or ("unknown",))[0]
        if await self._allow(f"rate:{client}", rate):
            return None
        return 429, f"more requests than {rate}", "wait a little, or raise RATE_LIMIT"


def _limit_body(receive: Receive, limit: int) -> Receive:
    """Count the bytes that arrive, for bodies without a content-length."""
    received, complete = 0, False

    async def receive_limited() -> Message:
        nonlocal received, complete
        try:
            async with asyncio.timeout(None if complete else BODY_SECONDS):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, f"no part of the body came for {BODY_SECONDS:g} s: send it again") from None
        complete = not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > limit:
            raise HTTPException(413, ": ".join(_too_large(limit)[1:]))
        return message

    return receive_limited


def _too_large(limit: int) -> Refusal:
    return 413, f"the body is larger than {limit} bytes", "send less"


def is_known_host(headers: Mapping[str, str], settings: AppSettings) -> bool:
    """Whether the Host header is a name of this server.

    Else a foreign site whose name resolves to this machine could read everything (DNS rebinding).
    """
    if not settings.loopback or "*" in settings.allowed_origins:
        return True
    name = _hostname(f"//{headers.get('host', '')}")
    return is_loopback(name) or name in map(_hostname, settings.allowed_origins)


@lru_cache(maxsize=64)
def _hostname(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def is_allowed_origin(headers: Mapping[str, str], settings: AppSettings) -> bool:
    """Whether the page that sent a request may do so; programs other than browsers send no Origin."""
    origin = headers.get("origin")
    if origin is None or "*" in settings.allowed_origins or origin in settings.trusted_pages:
        return True
    try:
        page = urlsplit(origin)
        name = page.hostname or ""
    except ValueError:
        return False
    # A foreign name that resolves to this machine has the matching Host header too, but is no loopback name.
    trusted = not settings.loopback or is_loopback(name)
    return trusted and bool(page.netloc) and page.netloc == headers.get("host")
