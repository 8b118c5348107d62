"""TCP on asyncio: links over its transports.

One write for each batch of whole frames; no task for a connection or a request.
"""

# Over 400 lines: asyncio needs one object for all its callbacks, and it is also the link.

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, cast

from fakemq.errors import NO_MEMORY, FakemqError
from fakemq.net.held import HeldBytes
from fakemq.net.link import CLOSED_BY_PEER, UNREAD, Endpoint, EndpointT, Link, LinkState
from fakemq.net.memory import OpenLinks
from fakemq.net.pacing import Backpressure, TurnScheduler
from fakemq.protocol.hosts import format_host
from fakemq.protocol.limits import UNREAD_MAX_BYTES

if TYPE_CHECKING:
    from fakemq.net.faults.lane import Act, MakeWay, Way
    from fakemq.net.tls import TlsTransport
    from fakemq.tls.stream import TlsStream

_READ_BYTES = 1 << 18
_CATCH_UP_READS = 256
"""How many reads end a pause, at most: more than a system keeps for one socket. The limit is for a
peer that never stops sending."""
_TLS = "TLS"
"""Kind of warning about a peer that cannot agree on TLS with this end."""
_LINGER_S = 1.0
"""How long a peer may read the rest after this end has closed the connection, in seconds."""


class _Inbox(threading.local):
    """The buffer that all connections of a thread's loop read to: bytes are taken at once.

    Otherwise asyncio makes a new buffer for every read, which costs more than the read itself.
    """

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_READ_BYTES))


_inbox = _Inbox()


class Door(Protocol):
    """What decides whether an accepted connection is plain or uses TLS."""

    def stream_for(self, first_byte: int) -> TlsStream | None:
        """Return this end of a TLS connection, None for a plain one.

        Raise FakemqError to refuse the connection.
        """


class TcpLink(asyncio.BufferedProtocol, Generic[EndpointT]):
    """A link over an asyncio transport.

    While the peer does not read, nothing is read from it. ``make`` returns the endpoint, or None
    to refuse the connection. ``held`` gets the number of bytes that are held for the peer.
    ``door`` looks at the first byte; without one the connection is plain, or with ``stream`` uses
    TLS from its beginning.
    """

    outside = True

    def __init__(
        self,
        make: Callable[[Link], EndpointT | None],
        held: HeldBytes | None = None,
        links: OpenLinks | None = None,
        door: Door | None = None,
        stream: TlsStream | None = None,
    ) -> None:
        self._make = make
        # Until the first byte. A plain connection then has neither, which costs one comparison.
        self._door, self._stream = door, stream
        self._tls: TlsTransport | None = None
        self._links = OpenLinks() if links is None else links
        # They carry written and arriving bytes while a fault affects the link. Without a fault both
        # are None, which costs one comparison.
        self._outward: Way | None = None
        self._inward: Way | None = None
        self.endpoint: EndpointT | None = None
        """None before the connection is made, and after its end."""
        # Neither keeps a reference to the link: a cycle would keep each closed link, its transport
        # and its buffers until the garbage collector runs.
        self._pressure = Backpressure(held or HeldBytes())
        self._turn = TurnScheduler(_soon)
        self._state = LinkState.OPEN
        self._will_drop = False
        """Whether `drop_soon` was called, which a link that is gone can be, too."""
        self._paused = False
        """Whether the node is paused."""
        self._lost_why: str | None = None
        """Why the connection was lost during a pause; the endpoint gets it at the end."""
        self._linger: asyncio.TimerHandle | None = None
        """Aborts a closed connection whose peer does not read the rest."""

    def _enter(self, state: LinkState) -> None:
        """Move to ``state``, unless the link is there already or beyond."""
        if state.value > self._state.value:
            self._state = state

    # -- the link's side ----------------------------------------------------------------------

    @property
    def write_blocked(self) -> bool:
        return self._pressure.blocked

    def write(self, data: bytes) -> None:
        if self._state is not LinkState.OPEN or self._transport.is_closing():
            return
        outward, pressure = self._outward, self._pressure
        if outward is None:
            self._transport.write(data)
        else:
            outward.put(data)
            if outward.full and not pressure.blocked:
                self._block()
        if pressure.blocked:
            pressure.unread_bytes += len(data)
            self._account()

    def _account(self) -> None:
        """Report how much is held; drop a peer that does not read for too long."""
        pressure = self._pressure
        # There are two looks, because only each write counts bytes, and not what the system took.
        if pressure.unread_bytes > UNREAD_MAX_BYTES:
            self.measure_held_bytes()
            if pressure.unread_bytes > UNREAD_MAX_BYTES:
                why = f"{pressure.unread_bytes} bytes unread; {UNREAD_MAX_BYTES} is the most"
                self.drop_soon(why, UNREAD)
        pressure.report(self, 0 if self._inward is None else self._inward.held_bytes)

    def _count_unsent(self) -> int:
        unsent_bytes = self._transport.get_write_buffer_size()
        return unsent_bytes if self._outward is None else unsent_bytes + self._outward.held_bytes

    def measure_held_bytes(self) -> int:
        unsent_bytes, pressure = self._count_unsent(), self._pressure
        if pressure.blocked:
            pressure.unread_bytes = unsent_bytes
        pressure.unfinished_bytes = self._unfinished_bytes()
        held_bytes = unsent_bytes + pressure.unfinished_bytes
        return held_bytes if self._inward is None else held_bytes + self._inward.held_bytes

    def _unfinished_bytes(self) -> int:
        if self.endpoint is None:
            return 0
        size_bytes = self.endpoint.unfinished_bytes
        return size_bytes if self._tls is None else size_bytes + self._tls.held_bytes

    def _count_unfinished(self) -> None:
        size_bytes = self._unfinished_bytes()
        if size_bytes != self._pressure.unfinished_bytes:
            self._pressure.unfinished_bytes = size_bytes
            self._account()

    def should_yield(self) -> bool:
        return self._turn.is_over(self._watch, self._continue)

    def drop_soon(self, why: str, kind: str) -> None:
        """Close the connection on the loop's next turn: a caller may be writing to it now."""
        if not self._will_drop:
            self._will_drop = True
            self._enter(LinkState.DROPPING)
            _soon(partial(self._drop, why, kind))

    def _drop(self, why: str, kind: str) -> None:
        endpoint = self.endpoint
        if endpoint is not None:
            endpoint.close_for_violation(why, kind)
        self._transport.abort()

    def close(self) -> None:
        self.endpoint, self._pressure.unfinished_bytes = None, 0
        self._links.discard(self)
        if self._state is LinkState.GONE:
            self._pressure.report_only(self, 0)  # nothing is left to be sent
        elif self._outward is None:
            self._shut()
        else:  # a fault delays bytes: the connection is closed after the last one
            self._watch()
            self._outward.after(self._shut)
            self._pressure.report_only(self, self._count_unsent())
        if self._inward is not None:
            self._inward.drop()

    def _shut(self) -> None:
        """Close the transport; the peer has `_LINGER_S` to read the rest."""
        transport = self._transport
        transport.close()
        if self._linger is None and (unsent_bytes := transport.get_write_buffer_size()):
            self._pressure.report_only(self, unsent_bytes)
            self._linger = asyncio.get_running_loop().call_later(_LINGER_S, transport.abort)

    def pause_reading(self) -> None:
        self._paused = True
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._paused:
            return
        self._paused = False
        # The peer left during the pause: what it sent before its end comes first.
        if self._lost_why is not None:
            if self._inward is not None:
                self._inward.deliver_due()
            self._end(self._lost_why)
            return
        # All that arrived is processed before anything else happens.
        self._turn.serve_all()
        try:
            self._continue()
            self._catch_up()
        finally:
            self._turn.ends_ms = 0
        if self._tls is not None:
            self._tls.check_time()

    def _catch_up(self) -> None:
        """Read what the system has kept, now: the loop would run late timers before it reads."""
        sock = self._transport.get_extra_info("socket")
        for _ in range(_CATCH_UP_READS):
            is_full = self._inward is not None and self._inward.full
            if is_full or self._paused or self._pressure.blocked or self._transport.is_closing():
                return
            try:
                data = os.read(sock.fileno(), _READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                self._transport.abort()
                self._end(str(error))
                return
            if not data:
                self._transport.close()
                self._end(CLOSED_BY_PEER)
                return
            if self._tls is not None or self._door is not None:
                self._decrypt(data)
            elif self._inward is None:
                self._take(data)
            else:
                self._put(data, self._inward)

    def _continue(self) -> None:
        """Let the endpoint process what it has left, and read on if it has nothing left."""
        try:
            if self.endpoint is None or not self._is_ready():
                return
            if self._turn.ends_ms:
                self._turn.ends_ms = 0
            self.endpoint.resume_processing()
            self._count_unfinished()
            if self._inward is not None:
                self._inward.deliver_due()
        finally:
            self._watch()

    def _watch(self) -> None:
        """Read from the peer, or stop, as the link's state demands.

        Without an endpoint the link reads, to notice that the peer closes its end.
        """
        waits = not self._is_ready() or (self._inward is not None and self._inward.full)
        if waits and self.endpoint is not None:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _end(self, why: str) -> None:
        """Report the loss to the endpoint, after all bytes that arrived before."""
        if self._tls is not None and self._tls.handshaking:
            self._refuse("TLS: the peer closed the connection during the handshake")
        if self._inward is None or self.endpoint is None:
            self._lose(why)
        else:
            self._inward.after(partial(self._lose, why))

    def _lose(self, why: str) -> None:
        self._links.discard(self)
        self._pressure.report_only(self, 0)
        endpoint, self.endpoint = self.endpoint, None
        if endpoint is not None:
            endpoint.connection_lost(why)

    # -- the transport's side -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.local_addr = _addr(transport.get_extra_info("sockname"))
        self.remote_addr = _addr(transport.get_extra_info("peername"))
        self.endpoint = self._make(self)
        if self.endpoint is None:
            self._transport.close()
            return
        self._links.add(self)
        if self._stream is not None:
            self._secure(self._stream).start()
        if self._paused:
            # asyncio (3.11) starts to read after this call, although reading was paused in it.
            _soon(self._pause_again)

    def _pause_again(self) -> None:
        if self._paused:
            self._transport.resume_reading()
            self._transport.pause_reading()

    def get_buffer(self, sizehint: int) -> memoryview:
        return _inbox.view

    def buffer_updated(self, nbytes: int) -> None:
        try:
            data = bytes(_inbox.view[:nbytes])
            if self._tls is not None or self._door is not None:
                self._decrypt(data)
            elif self._inward is None:
                self._take(data)
            else:
                self._put(data, self._inward)
        except MemoryError:  # the frame is lost, and with it where the next one begins
            self._drop(NO_MEMORY, "no memory")

    # -- TLS ----------------------------------------------------------------------------------

    def _decrypt(self, data: bytes) -> None:
        """Pass on the plain bytes of what arrived; the first byte decides whether it is TLS."""
        door, self._door = self._door, None
        if door is not None:
            try:
                stream = door.stream_for(data[0])
            except FakemqError as error:
                self._refuse(str(error))
                return
            if stream is not None:
                self._secure(stream)
        if self._tls is not None:
            data = self._tls.received(data)
            if self._tls.ended:
                _soon(self._watch)  # closes, once the endpoint has processed the last bytes
            if not data:
                self._count_unfinished()
                return
        if self._inward is None:
            self._take(data)
        else:
            self._put(data, self._inward)

    def _secure(self, stream: TlsStream) -> TlsTransport:
        from fakemq.net.tls import TlsTransport  # most connections are plain

        tls = self._tls = TlsTransport(self._transport, stream, self._refuse)
        self._transport = cast(asyncio.Transport, tls)
        return tls

    def _refuse(self, why: str) -> None:
        """Close the connection because the two ends cannot agree on TLS."""
        if self.endpoint is not None and not self._paused:  # a stopped process closes nothing
            self.endpoint.close_for_violation(why, _TLS)

    # -- bytes in -----------------------------------------------------------------------------

    def _put(self, data: bytes, inward: Way) -> None:
        if self.endpoint is not None:
            inward.put(data)
            self._account()
            self._watch()

    def _take(self, data: bytes) -> None:
        endpoint = self.endpoint
        if endpoint is None:
            return
        if self._turn.ends_ms:
            self._turn.ends_ms = 0
        endpoint.data_received(data)
        self._count_unfinished()

    def connection_lost(self, exc: Exception | None) -> None:
        self._enter(LinkState.GONE)
        self._pressure.forget()
        if self._tls is not None:
            self._tls.stop()
        if self._outward is not None:
            self._outward.drop()
        self._account()
        if self._linger is not None:
            self._linger.cancel()
        why = CLOSED_BY_PEER if exc is None else str(exc)
        if self._paused and self.endpoint is not None:
            self._lost_why = why  # a paused node notices it when it is resumed
        else:
            self._end(why)

    def pause_writing(self) -> None:
        self._pressure.system_is_full = True
        self._block()

    def resume_writing(self) -> None:
        self._pressure.system_is_full = False
        self._unblock()

    def _block(self) -> None:
        """Stop reading: the peer does not read, or a fault holds its bytes back."""
        self._pressure.block(self._count_unsent())
        self._account()
        self._watch()

    def _unblock(self) -> None:
        pressure = self._pressure
        is_full = self._outward is not None and self._outward.full
        if is_full or pressure.system_is_full or not pressure.blocked:
            return
        pressure.unblock()
        self._account()
        self._continue()

    # -- faults -------------------------------------------------------------------------------

    remote_node = None

    @property
    def node(self) -> str:
        return "" if self.endpoint is None else self.endpoint.node

    @property
    def session(self) -> Endpoint | None:
        return self.endpoint

    def wire(self, make: MakeWay) -> None:
        self._outward = make(self._send, outward=True, soon=_at_once, moved=self._sent)
        self._inward = make(
            self._take, outward=False, soon=_at_once, ready=self._is_ready, moved=self._taken
        )

    def unwire(self) -> None:
        self._outward = self._inward = None

    def cut(self, why: str, caused_by: Callable[[Act], None]) -> None:
        _soon(partial(caused_by, partial(self._cut, why)))

    def _cut(self, why: str) -> None:
        self._lose(why)
        self._shut()

    def reset(self, why: str, caused_by: Callable[[Act], None]) -> None:
        _soon(partial(caused_by, partial(self._reset, why)))

    def _reset(self, why: str) -> None:
        self._lose(why)
        sock = self._transport.get_extra_info("socket")
        if not self._transport.is_closing():
            # By a descriptor of its own: uvloop's socket has no setsockopt.
            with socket.socket(fileno=os.dup(sock.fileno())) as ours:
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def _is_ready(self) -> bool:
        """Return whether the endpoint may process bytes."""
        return not (self._paused or self._pressure.blocked or self._turn.waiting)

    def _sent(self) -> None:
        if self._pressure.blocked:  # on the next turn: the endpoint may be writing now
            _soon(self._unblock)

    def _taken(self) -> None:
        """The inward way has delivered bytes, or is full."""
        self._account()
        self._watch()


def _soon(act: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(act)


def _at_once(act: Callable[[], None]) -> None:
    act()


def _addr(name: object) -> str:
    if not isinstance(name, tuple):
        return "unknown:0"  # asyncio has no address of a peer that disconnected at once
    # A socket for both families shows an IPv4 peer's address as ::ffff:1.2.3.4.
    return format_host((name[0].removeprefix("::ffff:"), name[1]))
