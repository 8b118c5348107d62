"""The ASGI application: authorisation, routing to endpoints, and the answers to errors."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from urllib.parse import parse_qs, quote, unquote, unquote_to_bytes

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from fakemq.control import routes
from fakemq.control.endpoints import HttpEndpoint
from fakemq.control.results import Asset, Refusal, Stream, Text
from fakemq.core.views import NODE
from fakemq.errors import NO_MEMORY, ConfigError, FakemqError, NotYetSupported
from fakemq.events.core import failure
from fakemq.journal import json_text

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from fakemq.control.bodies import Arriving
    from fakemq.control.control import Control

T = TypeVar("T")
Answer: TypeAlias = Callable[[Request], Awaitable[Response]]

JSON = "application/json"


class Guard:
    """Refuses requests without authorisation.

    ``hosts`` are the host names that a request may carry in ``Host``; None allows any. The check
    stops DNS rebinding: a web page can let its own name resolve to 127.0.0.1, and the browser then
    sends that name as ``Host``.
    """

    def __init__(self, token: str | None, hosts: frozenset[str] | None) -> None:
        self._token = token
        self._hosts = hosts

    def check_host(self, scope: Scope) -> None:
        """Raise Refusal for the ``Host`` of another server."""
        host = _header(scope, b"host") or ""
        if self._hosts is not None and _name_of(host) not in self._hosts:
            there = ", ".join(sorted(self._hosts))
            raise Refusal(403, f"Host {host!r} is not this server; expected one of: {there}")

    @staticmethod
    def check_site(scope: Scope, *, is_page: bool) -> None:
        """Raise Refusal for a request that a page of another origin sends.

        Browsers say so of each request, also of those without ``Origin``: pictures, scripts and
        links. A link may only lead to a page of ours: that has nothing of the cluster in it.
        """
        site = _header(scope, b"sec-fetch-site")
        if site in (None, "same-origin", "none"):  # no browser; a page of ours; the address bar
            return
        if not (is_page and _header(scope, b"sec-fetch-mode") == "navigate"):
            raise Refusal(403, f"pages of other origins may not send requests here ({site})")

    def check(self, scope: Scope) -> None:
        """Raise Refusal if this request is not allowed."""
        self.check_host(scope)
        origin = _header(scope, b"origin")
        if origin is not None and origin != f"http://{_header(scope, b'host')}":
            raise Refusal(403, f"pages of {origin} may not send requests here")
        if self._token is not None:
            scheme, _, given = (_header(scope, b"authorization") or "").partition(" ")
            right = hmac.compare_digest(given.strip().encode("latin-1"), self._token.encode())
            if not (right and scheme.lower() == "bearer"):  # RFC 9110: in capitals or not
                raise Refusal(401, "expected the header Authorization: Bearer TOKEN, with the token"
                              " of --control-token or FAKEMQ_CONTROL_TOKEN")  # fmt: skip


def _header(scope: Scope, name: bytes) -> str | None:
    """Return the last header of a name, None without one. h11 refuses several hosts."""
    value: bytes | None = dict(scope["headers"]).get(name)
    return None if value is None else value.decode("latin-1")


_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([1-9][0-9]{0,4}))?", re.IGNORECASE)
"""A name or address and perhaps a port, and nothing else: no user, no path, no blank."""


def _name_of(host: str) -> str | None:
    """Return a host's name without its port, in lower case; None if the text is no host."""
    match = _HOST.fullmatch(host)
    if match is None or int(match[3] or 0) > 65_535:
        return None
    return (match[1] or match[2]).lower()


def _path_of(scope: Scope) -> str:
    """Return a request's path; Refusal if it is no path, or its percent-codes are not UTF-8."""
    raw: str = scope["raw_path"].decode()
    if not raw.startswith("/"):
        raise Refusal(403, f"expected a path, not {raw!r}: this is no proxy")
    try:
        return unquote(raw, errors="strict")
    except UnicodeDecodeError:
        raise Refusal(400, f"the path {raw} is not UTF-8") from None


class _BySegment(Starlette):
    """Splits a path into segments before it decodes them: a ``%2F`` is part of a name."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # In one form, so that `/v1/%74opics` is `/v1/topics`.
        segments = scope["raw_path"].decode().split("/")
        path = "/".join(quote(unquote_to_bytes(one), safe="") for one in segments)
        await super().__call__({**scope, "path": path}, receive, send)


class LongList(Response):
    """A body in parts: others are served between them, and the peer reads each before the next."""

    media_type = JSON

    def __init__(self, parts: list[bytes]) -> None:
        super().__init__(headers={"Content-Length": str(sum(map(len, parts)))})
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for part in self._parts if scope["method"] != "HEAD" else ():
            await send({"type": "http.response.body", "body": part, "more_body": True})
            await asyncio.sleep(0)
        await send({"type": "http.response.body", "body": b""})


class EventStream(Response):
    """Server-sent events; they end when their reader is gone, or there are no more."""

    media_type = "text/event-stream"

    def __init__(self, stream: Stream) -> None:
        super().__init__(headers={"Cache-Control": "no-store"})
        del self.headers["content-length"]
        self._parts, self._ended = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.ensure_future(receive())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            while scope["method"] != "HEAD":
                part = asyncio.ensure_future(anext(self._parts, b""))
                await asyncio.wait((part, gone), return_when=asyncio.FIRST_COMPLETED)
                if not part.done():
                    part.cancel()
                    await asyncio.wait((part,))
                    break
                if not part.result():
                    break
                await send({"type": "http.response.body", "body": part.result(), "more_body": True})
        finally:
            self._ended()
            gone.cancel()
            if isinstance(self._parts, AsyncGenerator):
                await self._parts.aclose()
        await send({"type": "http.response.body", "body": b""})


PAGE_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " img-src data:;"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of the pages: nothing from elsewhere is loaded, and no other page shows them in a frame."""


def make_app(control: Control, guard: Guard) -> Starlette:
    """Return the application for one cluster: one route for each path of the endpoints."""
    made: list[Route] = []
    for path in dict.fromkeys(one.path for one in routes.ENDPOINTS):
        here = {one.method: one for one in routes.ENDPOINTS if one.path == path}
        made.append(Route(path, _answering(control, guard, here), methods=_METHODS))
    app = _BySegment(routes=made, exception_handlers={404: _nowhere, 405: _no_method})
    app.router.redirect_slashes = False
    return app


_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]
"""All methods: our own answer names the methods that a path has, and only to authorised clients.
With fewer, Starlette would answer 405 before the authorisation."""


def _answering(control: Control, guard: Guard, here: dict[str, HttpEndpoint]) -> Answer:
    async def respond(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        chosen = here.get(method)
        try:
            is_page = chosen is not None and chosen.result is Asset
            guard.check_site(request.scope, is_page=is_page)
            if chosen is None or not chosen.open:
                guard.check(request.scope)
            elif chosen.result is Asset:  # a name server's address is found by any Host
                guard.check_host(request.scope)
            path = _path_of(request.scope)
            if chosen is None:
                there = ", ".join(here)
                text = f"{path} has no {method}; it has: {there}"
                return _refused(Refusal(405, text), {"Allow": there})
            query = _query_of(request.scope)
            if method != "GET":
                _require_json(request)
            in_path = {name: unquote(one) for name, one in request.path_params.items()}
            with control.bodies.begin(chosen.body_max_bytes) as body:
                answer = chosen.answer(control, in_path, query, await _read(request, body))
                result = await (unless_gone(request.receive, answer) if chosen.waits else answer)
        except Exception as error:
            return _refused(_refusal_of(control, error))
        # One turn of the loop: it passes the bytes of the change to the kernel. A client that then
        # reads this answer can rely on the change having been sent.
        await asyncio.sleep(0)
        if isinstance(result, Asset):
            return Response(result.content, headers=PAGE_HEADERS, media_type=result.media_type)
        if isinstance(result, Stream):
            return EventStream(result)
        if chosen.result is Text:
            return Response(str(result), media_type="text/plain")
        if isinstance(result, list) and len(result) > json_text.LONG_LIST:
            return LongList(await control.server.carry_out(json_text.parts(result)))
        return Response(json_text.encoded(result), media_type=JSON)

    return respond


def _require_json(request: Request) -> None:
    """Raise Refusal for a body of another type: the forms of a web page have no JSON."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    has_body = request.headers.get("content-length", "0") != "0" or (
        "transfer-encoding" in request.headers
    )
    if given != JSON and (given or has_body):
        raise Refusal(
            415,
            f"Content-Type {given!r}: expected {JSON}; curl sends it with --json instead of -d",
        )


def _query_of(scope: Scope) -> dict[str, list[str]]:
    try:
        return parse_qs(scope["query_string"].decode(), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise Refusal(400, "the query is not UTF-8") from None


async def unless_gone(receive: Receive, answer: Coroutine[object, object, T]) -> T:
    """Return the answer; cancel it and raise Refusal, which is not sent, if the client is gone."""
    answered = asyncio.ensure_future(answer)
    gone = asyncio.ensure_future(_end_of_client(receive))
    await asyncio.wait((answered, gone), return_when=asyncio.FIRST_COMPLETED)
    gone.cancel()
    if not answered.done():
        answered.cancel()
        raise _gone()
    return answered.result()


async def _end_of_client(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass  # a part of a body that is not read


def _gone() -> Refusal:
    return Refusal(400, "the client has closed the connection")


async def _read(request: Request, body: Arriving) -> bytes:
    """Return the body; Refusal if it is too large, or the client disconnected before its end."""
    try:
        async for part in request.stream():
            body.add(part)
    except ClientDisconnect:
        raise _gone() from None
    return body.whole()


def _refusal_of(control: Control, error: Exception) -> Refusal:
    """Return the answer to an error: a status for a user's mistake, 500 for a bug in fakemq."""
    if isinstance(error, Refusal):
        return error
    # The exact types: IndexError is a LookupError and UnicodeError a ValueError, but both are bugs.
    if type(error) in (ValueError, ConfigError):
        return Refusal(400, str(error))
    if type(error) is LookupError:
        return Refusal(404, str(error))
    if isinstance(error, NotYetSupported):
        return Refusal(501, str(error))
    if isinstance(error, FakemqError):
        return Refusal(409, str(error))
    if isinstance(error, MemoryError):
        return Refusal(507, NO_MEMORY)
    control.core.journal.add(failure(NODE, None, error))
    return Refusal(500, f"a bug in fakemq: {error!r}; the journal has its traceback")


def _refused(refusal: Refusal, headers: dict[str, str] | None = None) -> Response:
    headers = dict(headers or {})
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(json_text.encoded(refusal.error), refusal.status, headers, media_type=JSON)


async def _nowhere(request: Request, error: Exception) -> Response:
    try:
        text = f"there is no {_path_of(request.scope)}; GET /openapi.json lists the paths"
    except Refusal as refusal:
        return _refused(refusal)
    return _refused(Refusal(404, text))


async def _no_method(request: Request, error: Exception) -> Response:
    return _refused(Refusal(405, f"no path has the method {request.method}"))
