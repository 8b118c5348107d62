"""One HTTP connection: uvicorn's protocol, with limits for its peer.

uvicorn waits for ever for the rest of a request, and for a peer that does not read its answer. The
limits count real time, whatever the cluster's clock does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from logging import LoggerAdapter, getLogger
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from fakemq.control.results import Error
from fakemq.journal import json_text

if TYPE_CHECKING:
    from uvicorn import Config
    from uvicorn.server import ServerState

REQUEST_S = 10.0
"""How long a request may take to arrive, its head and its body, and how long none may arrive."""
ANSWER_S = 30.0
"""How long a peer may take to read what was written to it."""
LINGER_S = 1.0
"""How long a peer that is turned away may take to read why, and to close."""
CONNECTIONS_MOST = 512
"""Connections of one port: each may hold a head, and a part of a body that is not looked at yet."""

_REMOTING = (
    "closed a connection with bytes of RocketMQ's remoting protocol: this is the {use},"
    " which speaks HTTP; such a client needs the port of a name server"
)


class HttpConnection(H11Protocol):
    """One HTTP connection; ``warn`` is called with each problem that its peer causes.

    ``use`` says what its port is for.
    """

    def __init__(
        self, config: Config, state: ServerState, use: str, warn: Callable[[str], None]
    ) -> None:
        super().__init__(config, state, {})
        self.access_log = False
        self.logger = _ToWarnings(warn)  # type: ignore[assignment]  # has all that uvicorn calls
        self._use = use
        self._warn = warn
        self._arrives: asyncio.TimerHandle | None = None
        """Fires if the rest of a request does not arrive, or the end of a connection that is turned
        away; None while a request is being done."""
        self._leaves: asyncio.TimerHandle | None = None
        """Fires if the peer does not read; None while nothing is unsent."""
        self._turned_away = False
        """Whether it was one connection too many: what it sends is dropped."""
        self._has_bytes = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # `pause_writing` then says that bytes are unsent
        if len(self.connections) > CONNECTIONS_MOST:
            self._turn_away(f"{CONNECTIONS_MOST} connections are open; close what you do not need")
        else:
            self._watch_arrival()

    def _turn_away(self, text: str) -> None:
        """Answer 503, and read nothing; a close at once could lose the answer on its way."""
        self._warn(text)
        self._turned_away = True
        self._refuse(503, text)
        self.transport.write_eof()
        self._arrives = self.loop.call_later(LINGER_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._arrives, self._leaves):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    # -- what the peer sends ------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._turned_away:
            return
        # A remoting frame begins with a length below 2^24; no HTTP request begins so.
        if data[0] == 0 and not self._has_bytes:
            self._warn(_REMOTING.format(use=self._use))
            self.transport.abort()
            return
        self._has_bytes = True
        super().data_received(data)

    def handle_events(self) -> None:
        super().handle_events()
        # The next request of a pipeline is read once this one is answered.
        begun = self._begun()
        if begun is not None and not begun.more_body and self._arrives is not None:
            self._arrives.cancel()
            self._arrives = None

    def on_response_complete(self) -> None:
        self._watch_arrival()
        super().on_response_complete()

    def _begun(self) -> RequestResponseCycle | None:
        """Return the request that has begun to arrive and is not answered; None without one."""
        cycle: RequestResponseCycle | None = self.cycle
        return None if cycle is None or cycle.response_complete else cycle

    def _watch_arrival(self) -> None:
        if self._arrives is not None:
            self._arrives.cancel()
        self._arrives = self.loop.call_later(REQUEST_S, self._end_arrival)

    def _end_arrival(self) -> None:
        """Answer 408 to half a request, and close the connection."""
        if self.transport.is_closing():
            return
        begun = self._begun()
        if begun is not None or self.conn.trailing_data[0]:
            text = f"the request did not arrive within {REQUEST_S:g} s"
            self._warn(text)
            if begun is not None:
                begun.disconnected = True
                begun.message_event.set()
            self._refuse(408, text)
        self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP; with an error in JSON, as every other refusal."""
        self._refuse(400, "this is no valid HTTP request")
        self.transport.close()

    def _refuse(self, status: int, text: str) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return  # an answer has begun already
        body = json_text.encoded(Error(error=text))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")

    # -- what the peer reads ------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._leaves is None:
            self._leaves = self.loop.call_later(ANSWER_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._leaves is not None:
            self._leaves.cancel()
            self._leaves = None


class _ToWarnings(LoggerAdapter[Any]):
    """uvicorn's logger: what it says of a peer is a warning, and everything else fakemq's log."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__(getLogger("fakemq"), {})
        self._warn = warn

    @property
    def level(self) -> int:
        level: int = self.logger.getEffectiveLevel()
        return level

    def warning(self, msg: object, *args: object, **options: Any) -> None:
        self._warn(str(msg) % args if args else str(msg))  # as logging: a text may have a %

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, kwargs
