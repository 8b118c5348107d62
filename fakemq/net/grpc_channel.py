"""One gRPC connection, seen from the client: calls become bytes, answers come back.

For clients that live in the cluster: it never waits, has no deadlines of its own, and works over
any `Link`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from fakemq.net.link import CLOSED_BY_PEER
from fakemq.protocol.grpc.framing import MessageReader, framed
from fakemq.protocol.grpc.status import GrpcStatus
from fakemq.protocol.http2.client import FieldsReceived, GoesAway, Http2Client
from fakemq.protocol.http2.events import DataReceived, Http2Error

if TYPE_CHECKING:
    from fakemq.net.link import Link
    from fakemq.protocol.grpc.rpc import Rpc


def _ignore(*given: Any) -> None:
    pass


class GrpcChannel:
    """The client's end of a connection; ``authority`` is what it calls the server."""

    language = "grpc"

    def __init__(self, link: Link, node: str, authority: str) -> None:
        self.link = link
        self.closed = False
        self.violation = ""
        """What the server did that no server may do, if anything."""
        self._node = node
        self._authority = authority
        self._http2 = Http2Client()
        self._calls: dict[int, ClientCall] = {}

    @property
    def node(self) -> str:
        return self._node

    def call(
        self, rpc: Rpc, metadata: Mapping[str, str], timeout_ms: int | None = None
    ) -> ClientCall:
        """Begin a call; ``timeout_ms`` is the deadline that the server gets."""
        fields = [
            *((":method", "POST"), (":scheme", "http"), (":path", rpc.path)),
            *((":authority", self._authority), ("te", "trailers")),
            ("content-type", "application/grpc"),
            *metadata.items(),
        ]
        if timeout_ms is not None:
            fields.append(("grpc-timeout", f"{timeout_ms}m"))
        call = ClientCall(self, rpc)
        if self.closed:
            call._end(GrpcStatus.UNAVAILABLE, "the connection is closed")
            return call
        call.stream_id = self._http2.begin(fields)
        self._calls[call.stream_id] = call
        return call

    # -- of its calls -------------------------------------------------------------------------

    def _send(self, call: ClientCall, data: bytes, *, end: bool) -> None:
        self._http2.send(call.stream_id, data, end=end)
        self._write_out()

    def _cancel(self, call: ClientCall) -> None:
        if self._calls.pop(call.stream_id, None) is not None:
            self._http2.reset(call.stream_id)
            self._write_out()

    def _write_out(self) -> None:
        data = self._http2.data_to_send()
        if data and not self.closed:
            self.link.write(data)

    # -- bytes in -----------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Take bytes of the server; close the connection if they violate the protocol."""
        if self.closed:
            return
        try:
            events = self._http2.receive(data)
        except Http2Error as error:
            self.close_for_violation(str(error), "bytes that are no gRPC")
            return
        for event in events:
            if isinstance(event, GoesAway):
                self._goes_away(event.last_id)
                continue
            call = self._calls.get(event.stream_id)
            if call is None:
                continue
            if isinstance(event, FieldsReceived):
                call._take_fields(event.fields, event.ended)
            elif isinstance(event, DataReceived):
                call._take_data(event.data, event.ended)
            else:
                call._end(GrpcStatus.CANCELLED, "the server has reset the stream")
            if call.status is not None:
                self._calls.pop(call.stream_id, None)
        self._write_out()

    def _goes_away(self, last_id: int) -> None:
        for stream_id, call in list(self._calls.items()):
            if stream_id > last_id:
                del self._calls[stream_id]
                call._end(GrpcStatus.UNAVAILABLE, "the server takes no more calls")

    # -- the end ------------------------------------------------------------------------------

    def connection_lost(self, why: str = CLOSED_BY_PEER) -> None:
        """The link is gone: every call has failed."""
        self._over(why)

    def close(self, why: str) -> None:
        """Close the connection from this end."""
        if not self.closed:
            self._over(why)
            self.link.close()

    def vanish(self) -> None:
        """End as when this machine dies: the server sees nothing of it."""
        self.closed = True
        self._calls.clear()
        self.link.pause_reading()

    def _over(self, why: str) -> None:
        self.closed = True
        calls, self._calls = self._calls, {}
        for call in calls.values():
            call._end(GrpcStatus.UNAVAILABLE, why)

    def close_for_violation(self, why: str, kind: str) -> None:
        """Close the connection because the server violates a rule."""
        self.violation = why
        self.close(why)

    def resume_processing(self) -> None:
        """Do nothing: nothing is left for another turn."""

    @property
    def unfinished_bytes(self) -> int:
        """The size of what has not arrived whole, or has not left."""
        return self._http2.unfinished_bytes

    def pause(self) -> None:
        """Leave everything in the link."""
        self.link.pause_reading()

    def resume(self) -> None:
        """Take what arrived meanwhile."""
        self.link.resume_reading()


class ClientCall:
    """One call, until it has a `status`."""

    __slots__ = (
        *("_channel", "_reader", "answers", "on_end", "on_message", "rpc", "status"),
        *("stream_id", "text"),
    )

    def __init__(self, channel: GrpcChannel, rpc: Rpc) -> None:
        self.rpc = rpc
        self.stream_id = 0
        self.answers: list[Any] = []
        """The messages that came back."""
        self.status: GrpcStatus | None = None
        """How it ended; None before."""
        self.text = ""
        self.on_message: Callable[[Any], None] = _ignore
        """Called with each message that comes back."""
        self.on_end: Callable[[], None] = _ignore
        self._channel = channel
        self._reader = MessageReader()

    def send(self, message: Any, *, end: bool = True) -> None:
        """Send a message; with ``end`` it is the last one."""
        if self.status is None:
            self._channel._send(self, framed(message.SerializeToString()), end=end)

    def cancel(self) -> None:
        """Want no answer any more."""
        if self.status is None:
            self._channel._cancel(self)
            self._end(GrpcStatus.CANCELLED, "cancelled")

    def _take_fields(self, fields: dict[str, str], ended: bool) -> None:
        if ended:
            number = fields.get("grpc-status", "")
            if number.isdigit():
                self._end(GrpcStatus(int(number)), fields.get("grpc-message", ""))
            else:
                self._end(GrpcStatus.UNKNOWN, f"HTTP status {fields.get(':status')}")

    def _take_data(self, data: bytes, ended: bool) -> None:
        for message in self._reader.receive(data):
            answer = self.rpc.response.FromString(message)
            self.answers.append(answer)
            self.on_message(answer)
        if ended and self.status is None:
            self._end(GrpcStatus.INTERNAL, "an answer without a status")

    def _end(self, status: GrpcStatus, text: str) -> None:
        if self.status is None:
            self.status, self.text = status, text
            self.on_end()
