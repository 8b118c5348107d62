"""One gRPC connection, seen from the server: bytes become calls, their answers become bytes.

As `Session` does, it never waits: a call goes to the function of its route, which answers now or
later; what is written in one moment goes to the link in one piece.
"""

# Over 400 lines: the calls of a connection share its windows, its batch of writes and its end.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from typing import Any, Final, Protocol

from google.protobuf.message import DecodeError

from fakemq.clock.node_clock import NodeClock
from fakemq.clock.slices import Steps, finished, leaving
from fakemq.clock.timers import Timer
from fakemq.events.core import LinkClosed, LinkOpened, failure
from fakemq.journal.journal import Journal, shortened
from fakemq.net.grpc_call import GRPC_FIELDS, GrpcCall, RpcRoute, is_grpc, refusal, trailers
from fakemq.net.link import CLOSED_BY_PEER, UNREAD, Link
from fakemq.protocol.grpc.framing import MessageError, MessageReader, whole_message
from fakemq.protocol.grpc.rpc import timeout_ms
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.http2.connection import ALLOWANCE, ServerConnection
from fakemq.protocol.http2.events import (
    DataReceived,
    Event,
    Http2Error,
    RequestBegun,
    StreamReset,
)
from fakemq.protocol.http2.frames import CANCEL, INTERNAL_ERROR, NO_ERROR
from fakemq.protocol.http2.hpack import encode
from fakemq.protocol.limits import UNREAD_MAX_BYTES

VIOLATIONS: Final = "bytes that are no gRPC"
"""Kind of warning about a peer that does not follow HTTP/2."""

IDLE_MS: Final = 120_000
"""A connection without calls for this long gets a GOAWAY.

Source: proxy/config/ProxyConfig.java#grpcClientIdleTimeMills (5.5.0)
"""

BLOCKED_BYTES: Final = 64 * 1024
"""A call with more bytes than this waiting for the peer's window is blocked."""

ALLOWANCE_MS: Final = 1_000
"""How often a peer gets a new allowance of frames that carry no request."""

CALL_BYTES: Final = 2_000
"""The estimated memory of an open call, in addition to its message."""

_HEADERS: Final = encode(
    [
        *((":status", "200"), ("content-type", "application/grpc")),
        *(("grpc-encoding", "identity"), ("grpc-accept-encoding", "gzip")),
    ]
)
_OK: Final = encode([("grpc-status", "0")])


class GrpcOwner(Protocol):
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
        self, link: Link, owner: GrpcOwner, routes: Mapping[str, RpcRoute], idle_ms: int = IDLE_MS
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
        self._begun: list[GrpcCall[Any, Any]] = []
        """Calls that began in the present batch; their deadlines run from its end on at least."""
        self._blocked: dict[GrpcCall[Any, Any], None] = {}
        """Calls that were found blocked because the peer does not read from the link, in order."""
        self._left: list[Event] = []
        self._left_bytes = 0
        self._held_bytes = 0  # of all calls that are not over, see `hold`
        self._allowed_until_ms = 0  # when the peer gets the next allowance
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
        now_ms = clock.hold_moment(outside=self.outside)
        if now_ms >= self._allowed_until_ms:
            self._allowed_until_ms = now_ms + ALLOWANCE_MS
            self._http2.allowance = ALLOWANCE
        violation = None
        try:
            try:
                events = self._http2.receive(data)
            except Http2Error as error:
                events, violation = error.events, error
            if self._left:
                self._left_bytes += len(data)
                events = [*self._left, *events]
            else:
                self._left_bytes = len(data)
            self._handle_each(events)
            if violation is not None:
                self.close_for_violation(str(violation), VIOLATIONS)
            self._send_allowed()
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
            self._send_allowed()
            self._resume_blocked()
        finally:
            clock.release_moment()

    def _send_allowed(self) -> None:
        """Send what the peer's windows allow by now, a piece at a time.

        Leave the rest when other connections wait, or the peer does not read.
        """
        number = 0
        while self._http2.may_send and not self.link.write_blocked:
            if number and self.link.should_yield():
                return
            number += 1
            for event in self._http2.send_piece():
                self._handle(event)
            self._flush()

    def _resume_blocked(self) -> None:
        """Let blocked calls write; leave the rest when other connections wait, or none may write.

        A call that is still blocked comes behind the others.
        """
        for number in range(len(self._blocked)):
            if number and self.link.should_yield():
                return
            call = next(iter(self._blocked))
            del self._blocked[call]
            if not call.closed:
                self._drained(call)
                self._flush()
            if self.link.write_blocked or self.closed:
                return

    def _handle_each(self, events: list[Event]) -> None:
        """Handle events in their order; leave the rest when other connections wait."""
        self._left, self._buffering = [], True
        last = len(events)
        for number in range(last):
            # The first is handled in any case, so that each turn gets on.
            if number and (self.link.write_blocked or self.link.should_yield()):
                self._left = events[number:]
                break
            rest = self._handle(events[number])
            if self.closed:
                return
            if rest is not None:
                self._left = [rest, *events[number + 1 :]]
                break
        if not self._left:
            self._left_bytes = 0
        begun, self._begun = self._begun, []
        for call in begun:
            if not call.dispatched:  # most requests come with their fields, and need one timer less
                self._set_deadline(call)
        self._write_out()

    def _handle(self, event: Event) -> Event | None:
        """Handle an event; return what is left of it, when other connections have to wait."""
        if isinstance(event, RequestBegun):
            self._begin(event)
            return None
        call = self._calls.get(event.stream_id)
        # The call is over, which the peer may not have known when it sent this.
        if call is None:
            return None
        if isinstance(event, DataReceived):
            if not self._take(call, event.data, event.ended):
                return DataReceived(event.stream_id, b"", event.ended)
        elif isinstance(event, StreamReset):
            self._give_up(call)
        else:
            self._drained(call)
        return None

    def _begin(self, event: RequestBegun) -> None:
        headers, stream_id = event.headers, event.stream_id
        route = self._routes.get(headers.get(":path", ""))
        content_type = headers.get("content-type", "")
        if route is None or headers.get(":method") != "POST" or not is_grpc(content_type):
            self._refuse(event)
            return
        encoding = headers.get("grpc-encoding", "identity")
        if encoding not in ("identity", "gzip"):
            text = f"Can't find decompressor for {encoding}"
            self._end_stream(stream_id, GrpcStatus.UNIMPLEMENTED, text, event.ended)
            return
        deadline_ms = None
        timeout = headers.get("grpc-timeout")
        if timeout is not None:
            wait_ms = timeout_ms(timeout)
            if not wait_ms:
                self._http2.refuse(stream_id, INTERNAL_ERROR if wait_ms is None else CANCEL)
                return
            deadline_ms = self.elapsed_ms() + wait_ms
        call: GrpcCall[Any, Any] = GrpcCall(self, stream_id, route, headers, deadline_ms)
        self._calls[stream_id] = call
        self.hold(call, event.fields_bytes)
        self._begun.append(call)
        if event.ended:
            self._take(call, b"", True)

    def _refuse(self, event: RequestBegun) -> None:
        """Answer a request that becomes no call."""
        status, text, fields = refusal(event.headers)
        self._end_stream(event.stream_id, status, text, event.ended, fields)

    def _end_stream(
        self,
        stream_id: int,
        status: GrpcStatus,
        text: str,
        ended: bool,
        fields: tuple[tuple[str, str], ...] = GRPC_FIELDS,
    ) -> None:
        """Answer a stream by a status alone; ``ended`` says whether the peer has ended it."""
        block = encode([*fields, *trailers(status, text)])
        self._http2.send_headers(stream_id, block, end=True)
        if not ended:
            self._http2.reset(stream_id, NO_ERROR)

    def _take(self, call: GrpcCall[Any, Any], data: bytes, ended: bool) -> bool:
        """Take data; return False if whole messages of it are left for later."""
        message = whole_message(data) if call.reader is None else None
        if message is not None:
            self._take_message(call, message)
        elif (data or call.part_bytes) and not self._take_part(call, data):
            return False
        if ended and not call.closed:
            self._half_close(call)
        return True

    def _take_part(self, call: GrpcCall[Any, Any], data: bytes) -> bool:
        """Take bytes that are not one whole message; return False if whole ones are left."""
        is_all = True
        if call.reader is None:
            encoding = call.metadata.get("grpc-encoding", "identity")
            most_bytes = call.rpc.request_max_bytes
            call.reader = MessageReader(encoding, most_bytes, most_bytes)
        try:
            with closing(call.reader.receive(data)) as messages:
                for message in messages:
                    self._take_message(call, message)
                    if call.closed:
                        break
                    if self.link.should_yield():
                        is_all = False
                        break
        except MessageError:
            self._http2.refuse(call.stream_id, CANCEL)
            if not call.closed:
                self._give_up(call)
        if not call.closed:
            part_bytes = call.reader.held_bytes
            self.hold(call, part_bytes - call.part_bytes)
            call.part_bytes = part_bytes
        return is_all or call.closed

    def hold(self, call: GrpcCall[Any, Any], more_bytes: int) -> None:
        """Count what a call holds until it is over: its fields, its request, parts of messages."""
        self._held_bytes += more_bytes
        call.held_bytes += more_bytes

    def _take_message(self, call: GrpcCall[Any, Any], message: bytes) -> None:
        if call.rpc.request_stream:
            self._deliver(call, message)
        elif call.first is None:
            call.first = message
            self.hold(call, len(message))
        else:
            self._end_now(call, GrpcStatus.INTERNAL, "Too many requests")

    def _half_close(self, call: GrpcCall[Any, Any]) -> None:
        """The caller sends no more."""
        call.half_closed = True
        if call.reader is not None and call.reader.held_bytes:
            self._http2.refuse(call.stream_id, CANCEL)
            self._give_up(call)
        elif not call.rpc.request_stream:
            message, call.first = call.first, None
            if message is None:
                self._end_now(call, GrpcStatus.INTERNAL, "Half-closed without a request")
            else:
                self._deliver(call, message)
        elif call.dispatched:
            self._notify(call, call.on_half_close)
        else:
            self._end_now(call, GrpcStatus.OK, "")

    def _deliver(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        """Give one message to the code that answers the call."""
        try:
            message = call.rpc.request.FromString(data)
        except DecodeError:
            self._end_now(call, GrpcStatus.UNKNOWN, "")
            return
        if call.dispatched:
            self._notify(call, call.on_message, message)
            return
        call.dispatched = True
        self._notify(call, call.dispatch, call, message)
        self._set_deadline(call)

    def _set_deadline(self, call: GrpcCall[Any, Any]) -> None:
        """Set the timer of a call's deadline, behind all others of the same moment."""
        if call.closed or call.deadline_ms is None:
            return
        self._clock.cancel(call.deadline)
        call.deadline = self._clock.call_later(
            max(0, call.deadline_ms - self.elapsed_ms()),
            lambda: self._time_out(call),
            kind="grpc_deadline",
            outside=self.outside,
        )

    def _time_out(self, call: GrpcCall[Any, Any]) -> None:
        """The caller waits no longer, and knows it: its stream is only given up."""
        self.reset_call(call, CANCEL)

    def _notify(self, call: GrpcCall[Any, Any], act: Callable[..., None], *given: Any) -> None:
        """Call a function of the code that answers a call; its exception ends only this call."""
        journal = self._journal
        before = journal.cause
        try:
            act(*given)
        except Exception as error:
            journal.add(failure(self._name, None, error))
            call.end(GrpcStatus.UNKNOWN, "Application error processing RPC")
        finally:
            journal.end(before)

    def _drained(self, call: GrpcCall[Any, Any]) -> None:
        if not self.is_blocked(call):
            self._notify(call, call.on_drained)

    def _give_up(self, call: GrpcCall[Any, Any]) -> None:
        """Close a call that can no longer be answered."""
        self._forget(call)
        self._notify(call, call.on_closed)

    def _end_now(self, call: GrpcCall[Any, Any], status: GrpcStatus, text: str) -> None:
        """End a call that this end refuses."""
        dispatched = call.dispatched
        self.end_call(call, status, text)
        if dispatched:
            self._notify(call, call.on_closed)

    def _forget(self, call: GrpcCall[Any, Any]) -> None:
        call.closed = True
        del self._calls[call.stream_id]
        self.hold(call, -call.held_bytes)
        if not self._calls:
            self._last_call_ms = self.elapsed_ms()
        if call.deadline is not None:
            self._clock.cancel(call.deadline)

    # -- bytes out ----------------------------------------------------------------------------

    def send_message(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        """Send a message with its prefix."""
        if not call.began_answer:
            call.began_answer = True
            self._http2.send_headers(call.stream_id, _HEADERS)
        self._http2.send_data(call.stream_id, data)
        self._written()

    def reply_to_call(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        """Send the last message with its prefix, and the status OK; the call is over."""
        if call.began_answer or not call.half_closed:
            self.send_message(call, data)
            if not call.closed:
                self.end_call(call, GrpcStatus.OK, "")
            return
        self._forget(call)
        self._http2.answer(call.stream_id, _HEADERS, data, _OK)
        self._written()

    def end_call(self, call: GrpcCall[Any, Any], status: GrpcStatus, text: str) -> None:
        """Send a call's status after all its messages; the call is over."""
        self._forget(call)
        if not call.began_answer:
            self._end_stream(call.stream_id, status, text, call.half_closed)
        else:
            block = _OK if status is GrpcStatus.OK and not text else encode(trailers(status, text))
            self._http2.end(call.stream_id, block)
            if not call.half_closed:
                self._http2.reset_ended(call.stream_id)
        self._written()

    def reset_call(self, call: GrpcCall[Any, Any], code: int) -> None:
        """Give a call up with an error code of HTTP/2; one that is over stays as it is."""
        if not call.closed:
            self._http2.reset(call.stream_id, code)
            self._give_up(call)
            self._written()

    def is_blocked(self, call: GrpcCall[Any, Any]) -> bool:
        """Return whether a call's peer does not take what was sent."""
        if self.link.write_blocked:
            self._blocked[call] = None
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
        self._flush()
        if self._http2.queued_bytes > UNREAD_MAX_BYTES and not self.closed:
            why = f"{self._http2.queued_bytes} bytes wait for the windows of the peer;"
            self.close_for_violation(f"{why} {UNREAD_MAX_BYTES} is the most", UNREAD)

    def _flush(self) -> None:
        self._buffering = False
        data = self._http2.data_to_send()
        if data and not self.closed:
            self.link.write(data)

    # -- the end ------------------------------------------------------------------------------

    @property
    def unfinished_bytes(self) -> int:
        """The size of what is held: requests not answered, answers not taken."""
        http2 = self._http2
        held_bytes = self._left_bytes + self._held_bytes + CALL_BYTES * len(self._calls)
        return held_bytes + http2.queued_bytes + http2.unfinished_bytes

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        """The link is gone: every call is closed."""
        if not self.closed:
            self._end(why)

    def _end(self, why: str) -> None:
        self.closed, self._left, self._left_bytes, self._begun = True, [], 0, []
        self._clock.cancel(self._idle_timer)
        calls = self.calls
        for call in calls:
            self._forget(call)
        self._blocked.clear()
        self._http2 = ServerConnection()  # clients that refer to this session hold no bytes of it
        steps = self._close_calls(calls, why)
        if calls and self.outside:
            self._clock.carry_out(steps, peer=leaving(self))
        else:
            finished(steps)

    def _close_calls(self, calls: Iterable[GrpcCall[Any, Any]], why: str) -> Steps[None]:
        """Let the code that answers calls drop what waits: the messages of an answer, as a rule."""
        for call in calls:
            self._notify(call, call.on_closed)
            yield
        self._journal.add(LinkClosed(node=self._name, peer=self.remote_addr, why=why))
        self._owner.session_closed(self)

    def close(self, why: str) -> None:
        """Close the connection from this end; ``why`` goes to the journal."""
        if not self.closed:
            while self._http2.may_send:
                self._http2.send_piece()
            self._http2.go_away(0, "")
            self._leave(why)

    def close_for_violation(self, why: str, kind: str) -> None:
        """Close the connection because the peer violates a rule, and warn about it."""
        if not self.closed:
            why = shortened(why)
            text = f"closed the connection of {self.remote_addr}: {why}"
            self._journal.peer_warnings.warn(self._name, kind, text)
            self._leave(why)

    def _leave(self, why: str) -> None:
        self._flush()
        if not self.closed:  # by the link, whose peer did not read
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
