"""Connections to peers, one for each address, sans-IO: commands in, bytes out, and back.

A *channel* is one connection with its requests. It is CONNECTING, then OPEN, then CLOSED; a closed
channel is forgotten, and the next request to its address opens another one. The shell around it
moves its bytes and keeps its timers. No call waits.

Source: remoting/netty/NettyRemotingClient.java, NettyRemotingAbstract.java (4.9.7)
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from fakemq.client.addresses import split_addr
from fakemq.client.carrier import Answer, Cancellable, Failure, OnRequest, Reply
from fakemq.client.errors import (
    MQClientError,
    RemotingConnectError,
    RemotingError,
    RemotingSendRequestError,
    RemotingTimeoutError,
    RemotingTooMuchRequestError,
)
from fakemq.client.operation import Call
from fakemq.protocol.command import FLAG_ONEWAY, FLAG_RESPONSE, RemotingCommand
from fakemq.protocol.connection import client_connection
from fakemq.protocol.errors import LocalProtocolError, RemoteProtocolError
from fakemq.protocol.limits import UNREAD_MAX_BYTES

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

_log = logging.getLogger("fakemq.client")

CONNECT_TIMEOUT_MS = 3_000
"""Source: remoting/netty/NettyClientConfig.java#connectTimeoutMillis (4.9.7)"""

IDLE_MS = 120_000
"""A connection that has carried nothing for this long is closed.

Source: remoting/netty/NettyClientConfig.java#clientChannelMaxIdleTimeSeconds (4.9.7)
"""

CHECK_GRAIN_MS = 5
"""The least time between two looks for late requests, each of which looks at all of a channel."""

SEND_BYTES = 256 * 1024
"""About how much is joined for one write."""

_NEVER = 1 << 62


class ChannelState(Enum):
    """CONNECTING → OPEN → CLOSED; a connect that fails goes to CLOSED at once."""

    CONNECTING = auto()
    OPEN = auto()
    CLOSED = auto()


_OPEN, _CLOSED = ChannelState.OPEN, ChannelState.CLOSED


class Shell(Protocol):
    """What is around the connections: a clock, and sockets."""

    def elapsed_ms(self) -> int:
        """Return monotonic time, in milliseconds since an arbitrary moment."""

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Cancellable:
        """Call ``callback`` after ``delay_ms``."""

    def connect(self, channel: Channel) -> None:
        """Begin to connect; then call `Channel.opened` or `Channel.connect_failed`."""

    def write_soon(self, channel: Channel) -> None:
        """At the end of this turn, write what `Channel.data_to_send` returns."""

    def disconnect(self, channel: Channel) -> None:
        """Close the socket of a channel that is CLOSED now."""


_Request: TypeAlias = tuple[Reply, int, int]
"""A request without its response: what takes that, when it is late, and its time-out; a plain
tuple, because one is made for every request."""


class _Queued(NamedTuple):
    """A request that waits until its channel is open. If it is late before, it is never sent."""

    frame: bytes
    is_oneway: bool


class Channel:
    """One connection to ``addr``, from the first attempt to connect to its end."""

    def __init__(self, connections: Connections, shell: Shell, addr: str) -> None:
        self.addr = addr
        self.state = ChannelState.CONNECTING
        self.unsent_bytes = 0
        self.tls = connections.tls
        self._connections = connections
        self._shell = shell
        self._codec = client_connection(connections.credentials)
        self._requests: dict[int, _Request] = {}
        self._queued: dict[int, _Queued] = {}
        self._unsent: deque[bytes] = deque()
        self._sending = memoryview(b"")
        self._check: Cancellable | None = None
        self._check_ms = _NEVER
        # Of the attempt to connect, then of idleness.
        self._timer = shell.call_later(
            CONNECT_TIMEOUT_MS, self._connect_late, kind="connect_timeout"
        )
        self._active_ms = 0

    # -- requests -------------------------------------------------------------

    def request(self, call: Call, reply: Reply) -> None:
        """Send a request, now or when the channel is open; pass its response to ``reply``.

        A response in time or an error is certain. A request without a response in time closes the
        channel. Differs: in Java this holds only for requests that a thread waits for.
        """
        _, command, timeout_ms = call
        codec = self._codec
        opaque = command.opaque = codec.next_opaque()
        try:
            frame = codec.encode(command)
        except LocalProtocolError as error:
            reply(MQClientError(str(error)))
            return
        if self.unsent_bytes and self.unsent_bytes + len(frame) > self._connections.unsent_limit:
            reply(_too_much(self.addr, self.unsent_bytes))
            return
        is_oneway = command.flag & FLAG_ONEWAY != 0
        due_ms = self._shell.elapsed_ms() + timeout_ms
        if self.state is _OPEN:
            self._send(frame)
            if is_oneway:
                reply(None)
                return
        else:
            self.unsent_bytes += len(frame)
            self._queued[opaque] = _Queued(frame, is_oneway)
        self._requests[opaque] = reply, due_ms, timeout_ms
        if due_ms < self._check_ms:
            self._check_at(due_ms, timeout_ms)

    def _send(self, frame: bytes) -> None:
        if not self._unsent and not self._sending:
            self._shell.write_soon(self)
        self._unsent.append(frame)
        self.unsent_bytes += len(frame)

    def _check_at(self, due_ms: int, delay_ms: int) -> None:
        if self._check is not None:
            self._check.cancel()
        self._check_ms = due_ms
        self._check = self._shell.call_later(delay_ms, self._check_late, kind="rpc_timeout")

    def _check_late(self) -> None:
        """Fail the requests whose time is over.

        One timer for each channel is enough: it is set for the earliest request, which has its
        response long before as a rule.
        """
        now_ms = self._shell.elapsed_ms()
        self._check, self._check_ms = None, _NEVER
        late = {o: one for o, one in self._requests.items() if one[1] <= now_ms}
        for opaque in late:
            del self._requests[opaque]
            if (queued := self._queued.pop(opaque, None)) is not None:
                self.unsent_bytes -= len(queued.frame)
        was_open = self.state is _OPEN
        others = self._end() if late and was_open else []
        if self.state is not _CLOSED and self._requests:
            next_ms = min(due_ms for _, due_ms, _ in self._requests.values())
            delay_ms = max(CHECK_GRAIN_MS, next_ms - now_ms)
            self._check_at(now_ms + delay_ms, delay_ms)
        for reply, _, timeout_ms in late.values():
            self._reply(reply, RemotingTimeoutError(self.addr, timeout_ms))
        self._fail(others, RemotingSendRequestError)

    # -- life -----------------------------------------------------------------

    def opened(self) -> None:
        """The peer accepted the connection: send what waits."""
        if self.state is not ChannelState.CONNECTING:
            return
        self.state = _OPEN
        self._timer.cancel()
        self._active_ms = self._shell.elapsed_ms()
        self._timer = self._shell.call_later(IDLE_MS, self._check_idle, kind="channel_idle")
        self.unsent_bytes = 0
        oneways = []
        queued, self._queued = self._queued, {}
        for opaque, one in queued.items():
            self._send(one.frame)
            if one.is_oneway:
                oneways.append(self._requests.pop(opaque))
        for reply, _, _ in oneways:
            self._reply(reply, None)

    def connect_failed(self, reason: str = "") -> None:
        """No peer accepted the connection, for a reason of the system."""
        if self.state is ChannelState.CONNECTING:
            self._fail(self._end(), lambda addr: RemotingConnectError(addr, reason))

    def _connect_late(self) -> None:
        self.connect_failed(f"no answer in {CONNECT_TIMEOUT_MS} ms")

    def lost(self) -> None:
        """The connection ended; do nothing if it is closed."""
        if self.state is not _CLOSED:
            self._fail(self._end(), RemotingSendRequestError)

    def _end(self) -> list[_Request]:
        """Close the channel; return the requests that remain without a response."""
        self.state = _CLOSED
        self._connections.forget(self)
        self._timer.cancel()
        if self._check is not None:
            self._check.cancel()
        self._unsent.clear()
        self._queued.clear()
        self._sending = memoryview(b"")
        self.unsent_bytes = 0
        self._shell.disconnect(self)
        requests, self._requests = self._requests, {}
        return list(requests.values())

    def _fail(self, requests: list[_Request], error: Callable[[str], RemotingError]) -> None:
        # An error for each request, because tracebacks are written to it.
        for reply, _, _ in requests:
            self._reply(reply, error(self.addr))

    def _reply(self, reply: Reply, outcome: RemotingCommand | Failure | None) -> None:
        """Pass an outcome on; log an error, which must not keep the others from theirs."""
        try:
            reply(outcome)
        except Exception:
            _log.exception("the outcome %r of a request to %s was not taken", outcome, self.addr)

    def _check_idle(self) -> None:
        idle_ms = self._shell.elapsed_ms() - self._active_ms
        if idle_ms >= IDLE_MS and not self._requests:
            self.lost()
            return
        delay_ms = IDLE_MS - idle_ms if idle_ms < IDLE_MS else IDLE_MS
        self._timer = self._shell.call_later(delay_ms, self._check_idle, kind="channel_idle")

    # -- bytes ----------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Take the peer's bytes; a peer that breaks the protocol loses its connection."""
        self._active_ms = self._shell.elapsed_ms()
        try:
            commands = self._codec.receive_data(data)
        except RemoteProtocolError as error:
            self._broken(error)
            return
        requests = self._requests
        for command in commands:
            if not command.flag & FLAG_RESPONSE:
                self._requested(command)
            elif (one := requests.pop(command.opaque, None)) is not None:
                self._reply(one[0], command)
            if self.state is _CLOSED:
                return
        if self._codec.failure is not None:
            self._broken(self._codec.failure)

    def _broken(self, error: RemoteProtocolError) -> None:
        _log.warning("the connection to %s is closed: %s", self.addr, error)
        self.lost()

    def _requested(self, command: RemotingCommand) -> None:
        try:
            self._connections.on_request(self.addr, command, self._answer)
        except Exception:
            _log.exception("the request %r of %s failed", command, self.addr)

    def _answer(self, command: RemotingCommand) -> None:
        """Send the answer to a request of the peer; drop it if the connection is closed."""
        if self.state is not _OPEN:
            return
        if command.is_oneway:
            command.opaque = self._codec.next_opaque()
        try:
            frame = self._codec.encode(command)
        except LocalProtocolError as error:  # a peer asked for more than fits into a frame
            _log.warning("no answer for %s, its connection is closed: %s", self.addr, error)
            self.lost()
            return
        if self.unsent_bytes > self._connections.unsent_limit:
            _log.warning("the connection to %s is closed: it reads no answers", self.addr)
            self.lost()
            return
        self._send(frame)

    def data_to_send(self) -> memoryview:
        """Return bytes to write now, empty if there are none."""
        unsent = self._unsent
        if not self._sending and unsent:
            piece = unsent.popleft()
            if unsent:
                pieces, size = [piece], len(piece)
                while unsent and size < SEND_BYTES:
                    pieces.append(unsent.popleft())
                    size += len(pieces[-1])
                piece = b"".join(pieces)
            self._sending = memoryview(piece)
        return self._sending

    def data_sent(self, count: int) -> None:
        """Take the number of bytes that were written of the last `data_to_send`."""
        self._sending = self._sending[count:]
        self.unsent_bytes -= count
        self._active_ms = self._shell.elapsed_ms()

    def __repr__(self) -> str:
        return f"<channel to {self.addr}, {self.state.name}, {len(self._requests)} requests>"


class Connections:
    """The channels of one client by address; ``on_request`` takes the requests of peers."""

    def __init__(
        self,
        shell: Shell,
        *,
        credentials: Credentials | None = None,
        tls: ClientTls | None = None,
        unsent_limit: int = UNREAD_MAX_BYTES,
    ) -> None:
        self.credentials = credentials
        """What signs the requests; None for a client without keys."""
        self.tls = tls
        """What connects by TLS; None for plain connections."""
        self.unsent_limit = unsent_limit
        """The most bytes that wait for one peer to read; further requests are refused."""
        self.on_request: OnRequest = _ignored
        self._shell = shell
        self._channels: dict[str, Channel] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._channels)

    def request(self, call: Call, reply: Reply) -> None:
        """Send a request over the channel of its address, which is opened if there is none."""
        channel = self._channels.get(call.addr)
        if channel is not None:
            channel.request(call, reply)
            return
        failure = self._refusal(call.addr)
        if failure is not None:
            reply(failure)
            return
        channel = self._channels[call.addr] = Channel(self, self._shell, call.addr)
        channel.request(call, reply)
        if channel.state is ChannelState.CONNECTING:
            self._shell.connect(channel)

    def _refusal(self, addr: str) -> Failure | None:
        if self._closed:
            return MQClientError("this client is closed: create another one")
        try:
            split_addr(addr)
        except RemotingConnectError as error:
            return error
        return None

    def forget(self, channel: Channel) -> None:
        """Let the next request to the address of a closed channel open another one."""
        if self._channels.get(channel.addr) is channel:
            del self._channels[channel.addr]

    def close(self) -> None:
        """Close every channel, which fails its requests; refuse further requests."""
        self._closed = True
        for channel in list(self._channels.values()):
            channel.lost()


def _too_much(addr: str, unsent_bytes: int) -> RemotingTooMuchRequestError:
    return RemotingTooMuchRequestError(
        f"{unsent_bytes} bytes wait until <{addr}> reads them: send less, or later", addr
    )


def _ignored(addr: str, request: RemotingCommand, answer: Answer) -> None:
    _log.debug("no handler for %r of %s", request, addr)
