"""One gRPC connection, seen from the server: bytes become calls, their answers become bytes.

As `Session` does, it never waits: a call goes to the function of its route, which answers now or
later; what is written in one moment goes to the link in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from fakemq.clock.node_clock import NodeClock
from fakemq.clock.timers import Timer
from fakemq.events.core import LinkClosed, LinkOpened, failure
from fakemq.journal.journal import Journal, shortened
from fakemq.net.grpc_call import GrpcCall, Route
from fakemq.net.link import CLOSED_BY_PEER, Link
from fakemq.protocol.grpc.deadline import timeout_ms
from fakemq.protocol.grpc.framing import MessageError
from fakemq.protocol.grpc.status import GrpcStatus, percent_encoded
from fakemq.protocol.http2.connection import ServerConnection
from fakemq.protocol.http2.events import (
    DataReceived,
    Drained,
    Event,
    Http2Error,
    RequestBegun,
    StreamReset,
)

VIOLATIONS: Final = "bytes that are no gRPC"
"""Kind of warning about a peer that does not follow HTTP/2."""

IDLE_MS: Final = 120_000
"""A connection without calls for this long gets a GOAWAY.

Source: proxy/config/ProxyConfig.java#grpcClientIdleTimeMills (5.5.0)
"""

BLOCKED_BYTES: Final = 64 * 1024
"""A call with more bytes than this waiting for the peer's window is blocked."""

CANCEL: Final = 8
"""HTTP/2's code for a stream that is given up."""

_HEADERS: Final = (
    *((":status", "200"), ("content-type", "application/grpc")),
    ("grpc-accept-encoding", "gzip"),
)


class Owner(Protocol):
    """The node that has this end of the connection."""

    name: str
    clock: NodeClock
    journal: Journal

    def session_closed(self, session: GrpcSession) -> None:
        """The connection is gone; called once per session."""


class GrpcSession:
    """The server's end of a connection. ``routes`` has what is answered, by path."""

    language = "grpc"

    def __init__(
        self, link: Link, owner: Owner, routes: Mapping[str, Route], idle_ms: int = IDLE_MS
    ) -> None:
        self.link = link
        self.outside = link.outside
        self.closed = False
        self._owner = owner
        self._name = owner.name
        self._clock = owner.clock
        self._journal = owner.journal
        self._routes = routes
        # Its first bytes wait for those of the peer: they tell whether the link uses TLS.
        self._http2 = ServerConnection()
        self._calls: dict[int, GrpcCall[Any, Any]] = {}
        self._left: list[Event] = []
        self._left_bytes = 0
        self._buffering = False
        """Whether what is written waits for the end of the batch, or of the moment."""
        self._idle_ms = idle_ms
        self._last_call_ms = self.elapsed_ms()
        self._idle_timer: Timer | None = self._watch_idle(idle_ms) if idle_ms > 0 else None
        self._journal.add(LinkOpened(node=self._name, peer=self.remote_addr, outside=self.outside))

    @property
    def node(self) -> str:
        return self._name

    @property
    def remote_addr(self) -> str:
        """``host:port`` of the peer; behind a load balancer known from the first bytes on."""
        return self.link.remote_addr

    @property
    def calls(self) -> list[GrpcCall[Any, Any]]:
        """The calls that are not over, oldest first."""
        return list(self._calls.values())

    def elapsed_ms(self) -> int:
        """Return the elapsed time that the peer's deadlines count: real if it is outside."""
        return self._clock.elapsed_ms(outside=self.outside)

    # -- bytes in -----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Handle bytes of the peer; close the connection if they violate the protocol."""
        if self.closed:
            return
        clock = self._clock.cluster
        clock.hold_moment(outside=self.outside)
        try:
            events = self._http2.receive(data)
            self._left_bytes += len(data)
            self._handle_each([*self._left, *events] if self._left else events)
        except Http2Error as error:
            self.close_for_violation(str(error), VIOLATIONS)
        finally:
            clock.release_moment()

    def resume_processing(self) -> None:
        """Handle what waited, for the peer to read or for the next turn."""
        if self.closed:
            return
        clock = self._clock.cluster
        clock.hold_moment()
        try:
            self._handle_each(self._left)
            for call in self.calls:
                if not self.is_blocked(call):
                    self._notify(call, call.on_drained)
        finally:
            clock.release_moment()

    def _handle_each(self, events: list[Event]) -> None:
        """Handle events in their order; leave the rest when other connections wait."""
        self._left, self._buffering = [], True
        for number, event in enumerate(events):
            if number and (self.link.write_blocked or self.link.should_yield()):
                self._left = events[number:]
                break
            self._handle(event)
            if self.closed:
                return
        if not self._left:
            self._left_bytes = 0
        self._write_out()

    def _handle(self, event: Event) -> None:
        if isinstance(event, DataReceived):
            call = self._calls.get(event.stream_id)
            if call is not None:
                self._take(call, event.data, event.ended)
        elif isinstance(event, RequestBegun):
            self._begin(event)
        elif isinstance(event, StreamReset):
            call = self._calls.get(event.stream_id)
            if call is not None:
                self._give_up(call)
        elif isinstance(event, Drained):
            call = self._calls.get(event.stream_id)
            if call is not None:
                self._notify(call, call.on_drained)

    def _begin(self, event: RequestBegun) -> None:
        headers = event.headers
        path = headers.get(":path", "")
        route = self._routes.get(path)
        if route is None:
            self._refuse(event.stream_id, GrpcStatus.UNIMPLEMENTED, f"Method not found: {path[1:]}")
            return
        timeout = headers.get("grpc-timeout")
        wait_ms = None if timeout is None else timeout_ms(timeout)
        deadline_ms = None if wait_ms is None else self.elapsed_ms() + wait_ms
        call: GrpcCall[Any, Any] = GrpcCall(self, event.stream_id, route, headers, deadline_ms)
        self._calls[event.stream_id] = call
        if event.ended:
            self._take(call, b"", True)

    def _take(self, call: GrpcCall[Any, Any], data: bytes, ended: bool) -> None:
        try:
            messages = call.reader.receive(data) if data else []
        except MessageError as error:
            self.end_call(call, GrpcStatus(error.code), str(error))
            return
        if not call.rpc.request_stream:
            call.first += messages
            if ended:
                call.half_closed = True
                self._dispatch_single(call)
            return
        for message in messages:
            if not call.closed:
                self._deliver(call, message)
        if ended and not call.closed:
            call.half_closed = True
            if call.dispatched:
                self._notify(call, call.on_half_close)
            else:
                self.end_call(call, GrpcStatus.OK, "")

    def _dispatch_single(self, call: GrpcCall[Any, Any]) -> None:
        if len(call.first) != 1:
            why = "Too many requests" if call.first else "Half-closed without a request"
            self.end_call(call, GrpcStatus.INTERNAL, why)
            return
        self._deliver(call, call.first.pop())

    def _deliver(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        """Give one message to the code that answers the call."""
        from google.protobuf.message import DecodeError

        try:
            message = call.rpc.parse(data)
        except DecodeError:
            self.end_call(call, GrpcStatus.INTERNAL, "Invalid protobuf byte sequence")
            return
        if call.dispatched:
            self._notify(call, lambda: call.on_message(message))
            return
        call.dispatched = True
        self._notify(call, lambda: call.dispatch(call, message))
        if not call.closed and call.deadline_ms is not None:
            call.deadline = self._clock.call_later(
                max(0, call.deadline_ms - self.elapsed_ms()),
                lambda: self._time_out(call),
                kind="grpc_deadline",
                outside=self.outside,
            )

    def _time_out(self, call: GrpcCall[Any, Any]) -> None:
        """The caller waits no longer, and knows it: its stream is only given up."""
        if not call.closed:
            self._http2.reset(call.stream_id, CANCEL)
            self._give_up(call)
            self._written()

    def _notify(self, call: GrpcCall[Any, Any], act: Callable[[], None]) -> None:
        """Call a function of the code that answers the call; its exception ends only this call."""
        before = self._journal.cause
        try:
            act()
        except Exception as error:
            self._journal.add(failure(self._name, None, error))
            call.end(GrpcStatus.UNKNOWN, "Application error processing RPC")
        finally:
            self._journal.end(before)

    def _give_up(self, call: GrpcCall[Any, Any]) -> None:
        """Close a call that can no longer be answered."""
        self._forget(call)
        self._notify(call, call.on_closed)

    def _forget(self, call: GrpcCall[Any, Any]) -> None:
        call.closed = True
        del self._calls[call.stream_id]
        self._last_call_ms = self.elapsed_ms()
        if call.deadline is not None:
            self._clock.cancel(call.deadline)

    # -- bytes out ----------------------------------------------------------------------------

    def _refuse(self, stream_id: int, status: GrpcStatus, text: str) -> None:
        """Answer a stream that becomes no call."""
        self._http2.send_headers(stream_id, [*_HEADERS, *_trailers(status, text)], end=True)

    def send_message(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        """Send a message with its prefix."""
        if not call.began_answer:
            call.began_answer = True
            self._http2.send_headers(call.stream_id, _HEADERS)
        self._http2.send_data(call.stream_id, data)
        self._written()

    def end_call(self, call: GrpcCall[Any, Any], status: GrpcStatus, text: str) -> None:
        """Send a call's status after all its messages; the call is over."""
        self._forget(call)
        if call.began_answer:
            self._http2.end(call.stream_id, _trailers(status, text))
        else:
            self._refuse(call.stream_id, status, text)
        if not call.half_closed:
            self._http2.reset(call.stream_id, 0)
        self._written()

    def is_blocked(self, call: GrpcCall[Any, Any]) -> bool:
        """Return whether a call's peer does not take what was sent."""
        if self.link.write_blocked:
            return True
        return self._http2.queued_bytes_of(call.stream_id) > BLOCKED_BYTES

    def _written(self) -> None:
        """Write to the link, with all others of this batch, or of the present moment."""
        if not self._buffering and not self.closed:
            if self.outside and self._clock.cluster.at_release(self._write_out):
                self._buffering = True
            else:
                self._write_out()

    def _write_out(self) -> None:
        self._buffering = False
        data = self._http2.data_to_send()
        if data and not self.closed:
            self.link.write(data)

    # -- the end ------------------------------------------------------------------------------

    @property
    def unfinished_bytes(self) -> int:
        """The size of what is held: messages not whole, requests left, answers not taken."""
        held_bytes = self._left_bytes + self._http2.queued_bytes
        return held_bytes + sum(call.reader.held_bytes for call in self._calls.values())

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        """The link is gone: every call is closed."""
        if not self.closed:
            self._end(why)

    def _end(self, why: str) -> None:
        self.closed, self._left = True, []
        self._clock.cancel(self._idle_timer)
        for call in self.calls:
            self._give_up(call)
        self._journal.add(LinkClosed(node=self._name, peer=self.remote_addr, why=why))
        self._owner.session_closed(self)

    def close(self, why: str) -> None:
        """Close the connection from this end; ``why`` goes to the journal."""
        if not self.closed:
            self._http2.go_away(0, "")
            self._write_out()
            self._end(why)
            self.link.close()

    def close_for_violation(self, why: str, kind: str) -> None:
        """Close the connection because the peer violates a rule, and warn about it."""
        if not self.closed:
            why = shortened(why)
            text = f"closed the connection of {self.remote_addr}: {why}"
            self._journal.peer_warnings.warn(self._name, kind, text)
            self._write_out()
            self._end(why)
            self.link.close()

    # -- a paused node ------------------------------------------------------------------------

    def pause(self) -> None:
        """Leave arriving bytes unread, as a stopped process does."""
        self.link.pause_reading()

    def resume(self) -> None:
        """Handle the bytes that arrived during the pause, and the peer's close if there was one."""
        self.link.resume_reading()

    # -- idleness -----------------------------------------------------------------------------

    def _watch_idle(self, delay_ms: int) -> Timer:
        return self._clock.call_later(
            delay_ms, self._check_idle, kind="channel_idle", outside=self.outside
        )

    def _check_idle(self) -> None:
        since_ms = self.elapsed_ms() if self._calls else self._last_call_ms
        left_ms = since_ms + self._idle_ms - self.elapsed_ms()
        if left_ms > 0:
            self._idle_timer = self._watch_idle(left_ms)
        else:
            self.close(f"no call for {self._idle_ms // 1000} s")

    def __repr__(self) -> str:
        state = "closed" if self.closed else "outside" if self.outside else "inside"
        return f"<gRPC session {self.link.local_addr} - {self.remote_addr} {state}>"


def _trailers(status: GrpcStatus, text: str) -> list[tuple[str, str]]:
    trailers = [("grpc-status", str(int(status)))]
    if text:
        trailers.append(("grpc-message", percent_encoded(text)))
    return trailers
