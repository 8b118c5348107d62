"""One gRPC call: a stream of a connection, as the code that answers it sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from fakemq.protocol.grpc.framing import MessageReader, framed
from fakemq.protocol.grpc.rpc import Rpc
from fakemq.protocol.grpc.status import GrpcStatus, percent_encoded

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from fakemq.clock.timers import Timer
    from fakemq.net.link import Link

RequestT = TypeVar("RequestT", bound="Message")
ResponseT = TypeVar("ResponseT", bound="Message")


class CallSession(Protocol):
    """The connection of a call, as the call uses it: a `GrpcSession`."""

    link: Link
    outside: bool
    closed: bool

    @property
    def remote_addr(self) -> str:
        """``host:port`` of the peer."""

    def elapsed_ms(self) -> int:
        """Return the elapsed time that the peer's deadlines count."""

    def send_message(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        """Send a message with its prefix."""

    def reply_to_call(self, call: GrpcCall[Any, Any], data: bytes) -> None:
        """Send the last message with its prefix, and the status OK; the call is over."""

    def reset_call(self, call: GrpcCall[Any, Any], code: int) -> None:
        """Give a call up with an error code of HTTP/2."""

    def close(self, why: str) -> None:
        """Close the connection; ``why`` goes to the journal."""

    def end_call(self, call: GrpcCall[Any, Any], status: GrpcStatus, text: str) -> None:
        """Send a call's status after all its messages; the call is over."""

    def hold(self, call: GrpcCall[Any, Any], more_bytes: int) -> None:
        """Count what a call holds until it is over, or fewer bytes, if the number is negative."""

    def is_blocked(self, call: GrpcCall[Any, Any]) -> bool:
        """Return whether a call's peer does not take what was sent."""


class AnswerGate(Protocol):
    """What stands between the code that answers a call and the call: a fault, as a rule."""

    def send(self, message: Any) -> None:
        """Take one message of the answer."""

    def end(self, status: GrpcStatus, text: str) -> None:
        """Take the end of the answer."""


def _ignore_message(message: Any) -> None:
    """Drop a message that is not expected."""


def _ignore() -> None:
    """Do nothing: the function is not set."""


class GrpcCall(Generic[RequestT, ResponseT]):
    """One call, from its first message to its status. All is called on the cluster's thread.

    The code that answers the call sets the functions that it needs:

    - ``on_message`` gets each further message of a stream of requests;
    - ``on_half_close``: the caller sends no more;
    - ``on_closed``: the call is over, but not by `end`: the caller gave it up, its deadline is over
      or its connection is lost. Drop here what waits to answer it, so that it is given no message;
    - ``on_drained``: the call is no longer `write_blocked`.
    """

    def __init__(
        self,
        session: CallSession,
        stream_id: int,
        route: RpcRoute,
        metadata: Mapping[str, str],
        deadline_ms: int | None,
    ) -> None:
        self.session = session
        self.rpc = route.rpc
        self.metadata = metadata
        """The headers of the call by their lower-case names; of several the last one."""
        self.closed = False
        """Whether the call is over: ended, given up, or its connection is lost."""
        self.half_closed = False
        """Whether the caller sends no more."""
        self.on_message: Callable[[RequestT], None] = _ignore_message
        self.on_half_close: Callable[[], None] = _ignore
        self.on_closed: Callable[[], None] = _ignore
        self.on_drained: Callable[[], None] = _ignore
        self.gate: AnswerGate | None = None
        """Gets the answer instead of the caller, and may pass it on by `send_now` and `end_now`."""
        # The rest is the session's.
        self.stream_id = stream_id
        self.dispatch = route.dispatch
        self.deadline_ms = deadline_ms
        """The elapsed time at the end of the caller's patience; None without one."""
        self.deadline: Timer | None = None
        self.reader: MessageReader | None = None
        """Cuts messages; made when one does not arrive whole and alone."""
        self.first: bytes | None = None
        """The only message of a unary call whose end has not arrived."""
        self.held_bytes = 0
        """What the session counts for this call."""
        self.part_bytes = 0
        """… of that for messages that are not whole."""
        self.dispatched = False
        self.began_answer = False

    @property
    def remote_addr(self) -> str:
        return self.session.remote_addr

    @property
    def local_addr(self) -> str:
        return self.session.link.local_addr

    @property
    def outside(self) -> bool:
        """Whether the caller lives outside the cluster: its deadline counts real time."""
        return self.session.outside

    def remaining_ms(self) -> int | None:
        """Return how long the caller waits from now on; None if it has set no deadline."""
        if self.deadline_ms is None:
            return None
        return max(0, self.deadline_ms - self.session.elapsed_ms())

    def hold(self, more_bytes: int) -> None:
        """Count bytes that are held for this call until it is over; fewer with a negative number.

        A connection that holds too much is closed.
        """
        if not self.closed:
            self.session.hold(self, more_bytes)

    @property
    def write_blocked(self) -> bool:
        """Whether the caller does not take what was sent; `on_drained` is called when it does."""
        return self.session.is_blocked(self)

    def send(self, message: ResponseT) -> None:
        """Send one message of the answer; a call that is over drops it."""
        if self.gate is not None:
            self.gate.send(message)
        else:
            self.send_now(message)

    def send_now(self, message: ResponseT) -> None:
        """As `send`, past the gate."""
        if not self.closed:
            self.session.send_message(self, framed(message.SerializeToString()))

    def end(self, status: GrpcStatus = GrpcStatus.OK, text: str = "") -> None:
        """End the call; a call that is over stays as it is."""
        if self.gate is not None:
            self.gate.end(status, text)
        else:
            self.end_now(status, text)

    def end_now(self, status: GrpcStatus = GrpcStatus.OK, text: str = "") -> None:
        """As `end`, past the gate."""
        if not self.closed:
            self.session.end_call(self, status, text)

    def reply(self, message: ResponseT) -> None:
        """Send the only message of the answer, and end the call."""
        if self.gate is not None:
            self.gate.send(message)
            self.end()  # the gate may be gone now
        elif not self.closed:
            self.session.reply_to_call(self, framed(message.SerializeToString()))

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<call {self.rpc.name} of {self.remote_addr} {state}>"


Dispatch = Callable[[GrpcCall[Any, Any], Any], None]
"""Takes a call and its first message; answers now or later."""


class RpcRoute(NamedTuple):
    """Where the calls of one path go."""

    rpc: Rpc
    dispatch: Dispatch


# How a request that becomes no call is refused, and how a status is written.
#
# Source: io/grpc/netty/NettyServerHandler.java#onHeadersRead (grpc-java)

Fields = tuple[tuple[str, str], ...]

GRPC_FIELDS: Final = ((":status", "200"), ("content-type", "application/grpc"))
"""The fields of an answer that is a status alone."""


def refusal(headers: Mapping[str, str]) -> tuple[GrpcStatus, str, Fields]:
    """Return the status of a request without a handler, its text, and the fields before them."""
    path, method = headers.get(":path", ""), headers.get(":method")
    content_type = headers.get("content-type")
    if not path.startswith("/"):
        text = f"Expected path to start with /: {path}"
        return GrpcStatus.UNIMPLEMENTED, text, _of_http("404")
    if content_type is None:
        return GrpcStatus.INTERNAL, "Content-Type is missing from the request", _of_http("415")
    if not is_grpc(content_type):
        text = f"Content-Type '{content_type}' is not supported"
        return GrpcStatus.INTERNAL, text, _of_http("415")
    if method != "POST":
        return GrpcStatus.INTERNAL, f"Method '{method}' is not supported", _of_http("405")
    return GrpcStatus.UNIMPLEMENTED, f"Method not found: {path[1:]}", GRPC_FIELDS


def _of_http(status: str) -> Fields:
    return (":status", status), ("content-type", "text/plain; charset=utf-8")


def is_grpc(content_type: str) -> bool:
    """Return whether a content type is gRPC's.

    Source: io/grpc/internal/GrpcUtil.java#isGrpcContentType (grpc-java)
    """
    kind, rest = content_type[:16].lower(), content_type[16:17]
    return kind == "application/grpc" and rest in ("", "+", ";")


def trailers(status: GrpcStatus, text: str) -> list[tuple[str, str]]:
    """Return the fields that end a call."""
    trailers = [("grpc-status", str(int(status)))]
    if text:
        trailers.append(("grpc-message", percent_encoded(text)))
    return trailers
