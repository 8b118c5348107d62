"""TCP on asyncio: links over its transports.

One write per batch of whole frames, no task per connection or request.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, cast

from fakemq.clock.machine_time import real_elapsed_ms
from fakemq.net.held import HeldBytes
from fakemq.net.link import CLOSED_BY_PEER, UNREAD, Endpoint, EndpointT, Link
from fakemq.net.memory import OpenLinks
from fakemq.protocol.hosts import format_host
from fakemq.protocol.limits import UNREAD_MAX_BYTES

if TYPE_CHECKING:
    from fakemq.net.faults.lane import Act, MakeWay, Way

_READ_BYTES = 1 << 18
_CATCH_UP_READS = 256  # more than a system keeps for one socket; a flood must not hold us
_TURN_MS = 5  # so long one connection is served while others wait
_LINGER_S = 1.0  # so long a peer has to read what it was sent before its connection was closed


class _Inbox(threading.local):
    """Where a thread's loop reads to, whichever connection it is: what came is taken at once.

    asyncio would make a new buffer for every read, which costs more than the read itself.
    """

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_READ_BYTES))


_inbox = _Inbox()


class TcpLink(asyncio.BufferedProtocol, Generic[EndpointT]):
    """A link over an asyncio transport; a slow reader is not read from until it reads.

    ``make`` gives the endpoint, or None to a connection that is to be closed at once. What the
    peer makes us hold is told to ``held``.
    """

    outside = True

    def __init__(
        self,
        make: Callable[[Link], EndpointT | None],
        held: HeldBytes | None = None,
        links: OpenLinks | None = None,
    ) -> None:
        self._make = make
        self._held = HeldBytes() if held is None else held
        self._links = OpenLinks() if links is None else links
        self._outward: Way | None = None
        self._inward: Way | None = None
        self.endpoint: EndpointT | None = None
        self.write_blocked = False
        self._kernel_is_full = False
        self._paused = False  # by the node
        self._waits = False  # for its turn
        self._turn_ends_ms: int | None = 0  # 0: nobody has looked yet; None: never
        self._lost: str | None = None  # while paused
        self._gone = False  # the system has lost the peer, whether we have heard of it or not
        self._unread_bytes = 0  # at most; counted while write_blocked
        self._unfinished_bytes = 0
        self._leaving = False
        self._linger: asyncio.TimerHandle | None = None

    # -- the link's side ----------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if self._leaving or self._transport.is_closing():
            return
        outward = self._outward
        if outward is None:
            self._transport.write(data)
        else:
            outward.put(data)
            if outward.full and not self.write_blocked:
                self._clog()
        if self.write_blocked:
            self._unread_bytes += len(data)
            self._account()

    def _account(self) -> None:
        """Say how much is held; a peer that does not read loses its connection in the end."""
        if self._unread_bytes > UNREAD_MAX_BYTES:
            self.measure_held_bytes()
            if self._unread_bytes > UNREAD_MAX_BYTES:
                why = f"{self._unread_bytes} bytes unread; {UNREAD_MAX_BYTES} is the most"
                self.drop_soon(why, UNREAD)
        held_bytes = self._unread_bytes + self._unfinished_bytes
        if self._inward is not None:
            held_bytes += self._inward.held_bytes
        self._held.put(self, held_bytes)

    def _count_unsent(self) -> int:
        unsent_bytes = self._transport.get_write_buffer_size()
        return unsent_bytes if self._outward is None else unsent_bytes + self._outward.held_bytes

    def measure_held_bytes(self) -> int:
        unsent_bytes = self._count_unsent()
        if self.write_blocked:
            self._unread_bytes = unsent_bytes
        self._unfinished_bytes = 0 if self.endpoint is None else self.endpoint.unfinished_bytes
        held_bytes = unsent_bytes + self._unfinished_bytes
        return held_bytes if self._inward is None else held_bytes + self._inward.held_bytes

    def _count_unfinished(self) -> None:
        size_bytes = 0 if self.endpoint is None else self.endpoint.unfinished_bytes
        if size_bytes != self._unfinished_bytes:
            self._unfinished_bytes = size_bytes
            self._account()

    def should_yield(self) -> bool:
        ends_ms, now_ms = self._turn_ends_ms, real_elapsed_ms()
        if ends_ms == 0:
            self._turn_ends_ms = now_ms + _TURN_MS
        elif ends_ms is not None and now_ms >= ends_ms and not self._waits:
            self._waits = True
            self._watch()
            asyncio.get_running_loop().call_soon(self._take_turn)
        return self._waits

    def _take_turn(self) -> None:
        self._waits = False
        self._go_on()

    def drop_soon(self, why: str, kind: str) -> None:
        """Close the connection on the loop's next turn: whoever writes now is in the middle."""
        if not self._leaving:
            self._leaving = True
            asyncio.get_running_loop().call_soon(self._give_up, why, kind)

    def _give_up(self, why: str, kind: str) -> None:
        endpoint = self.endpoint
        if endpoint is not None:
            endpoint.close_for_violation(why, kind)
        self._transport.abort()

    def close(self) -> None:
        self.endpoint, self._unfinished_bytes = None, 0
        self._links.discard(self)
        if self._gone:
            self._held.put(self, 0)
        elif self._outward is None:
            self._shut()
        else:
            self._watch()
            self._outward.after(self._shut)
            self._held.put(self, self._count_unsent())
        if self._inward is not None:
            self._inward.drop()

    def _shut(self) -> None:
        """Nothing more is to be written."""
        transport = self._transport
        transport.close()
        unsent_bytes = transport.get_write_buffer_size()
        if unsent_bytes and self._linger is None:
            self._held.put(self, unsent_bytes)
            self._linger = asyncio.get_running_loop().call_later(_LINGER_S, transport.abort)

    def pause_reading(self) -> None:
        self._paused = True
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        if not self._paused:
            return
        self._paused = False
        if self._lost is not None:
            if self._inward is not None:
                self._inward.go_on()
            self._end(self._lost)
            return
        self._turn_ends_ms, self._waits = None, False  # all of it, before anything else happens
        try:
            self._go_on()
            self._catch_up()
        finally:
            self._turn_ends_ms = 0

    def _catch_up(self) -> None:
        """Read now what the system has kept: the loop would only do so after a late timer."""
        sock = self._transport.get_extra_info("socket")
        for _ in range(_CATCH_UP_READS):
            is_full = self._inward is not None and self._inward.full
            if is_full or self._paused or self.write_blocked or self._transport.is_closing():
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
            if self._inward is None:
                self._take(data)
            else:
                self._put(data, self._inward)

    def _go_on(self) -> None:
        """Have the endpoint go on with what it has left, and read on if it has nothing left."""
        try:
            if self._paused or self.write_blocked or self._waits or self.endpoint is None:
                return
            if self._turn_ends_ms:
                self._turn_ends_ms = 0
            self.endpoint.resume_processing()
            self._count_unfinished()
            if self._inward is not None:
                self._inward.go_on()
        finally:
            self._watch()

    def _watch(self) -> None:
        waits = not self._is_ready() or (self._inward is not None and self._inward.full)
        if waits and self.endpoint is not None:  # else only to hear that the peer goes
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _end(self, why: str) -> None:
        """Nothing more will come: the endpoint hears so when it has what came before."""
        if self._inward is None or self.endpoint is None:
            self._lose(why)
        else:
            self._inward.after(partial(self._lose, why))

    def _lose(self, why: str) -> None:
        self._links.discard(self)
        self._held.put(self, 0)
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
        if self._paused:
            # asyncio (3.11) begins to read after this, paused or not.
            asyncio.get_running_loop().call_soon(self._pause_again)

    def _pause_again(self) -> None:
        if self._paused:
            self._transport.resume_reading()
            self._transport.pause_reading()

    def get_buffer(self, sizehint: int) -> memoryview:
        return _inbox.view

    def buffer_updated(self, nbytes: int) -> None:
        if self._inward is None:
            self._take(bytes(_inbox.view[:nbytes]))
        else:
            self._put(bytes(_inbox.view[:nbytes]), self._inward)

    def _put(self, data: bytes, inward: Way) -> None:
        if self.endpoint is not None:
            inward.put(data)
            self._account()
            self._watch()

    def _take(self, data: bytes) -> None:
        endpoint = self.endpoint
        if endpoint is None:
            return
        if self._turn_ends_ms:
            self._turn_ends_ms = 0
        endpoint.data_received(data)
        self._count_unfinished()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone, self.write_blocked = True, False
        self._unread_bytes = self._unfinished_bytes = 0
        if self._outward is not None:
            self._outward.drop()
        self._account()
        if self._linger is not None:
            self._linger.cancel()
        why = CLOSED_BY_PEER if exc is None else str(exc)
        if self._paused and self.endpoint is not None:
            self._lost = why  # a stopped process notices when it goes on
        else:
            self._end(why)

    def pause_writing(self) -> None:
        self._kernel_is_full = True
        self._clog()

    def resume_writing(self) -> None:
        self._kernel_is_full = False
        self._unclog()

    def _clog(self) -> None:
        """The peer does not read what it is sent, or it does not get there."""
        self.write_blocked = True
        self._unread_bytes = self._count_unsent()
        self._account()
        self._watch()

    def _unclog(self) -> None:
        is_full = self._outward is not None and self._outward.full
        if is_full or self._kernel_is_full or not self.write_blocked:
            return
        self.write_blocked = False
        self._unread_bytes = 0
        self._account()
        self._go_on()

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

    def cut(self, why: str, owed: Callable[[Act], None]) -> None:
        asyncio.get_running_loop().call_soon(owed, partial(self._cut, why))

    def _cut(self, why: str) -> None:
        self._lose(why)
        self._shut()

    def reset(self, why: str, owed: Callable[[Act], None]) -> None:
        asyncio.get_running_loop().call_soon(owed, partial(self._reset, why))

    def _reset(self, why: str) -> None:
        self._lose(why)
        sock = self._transport.get_extra_info("socket")
        if not self._transport.is_closing():
            # By a descriptor of its own: not every loop's socket can be set.
            with socket.socket(fileno=os.dup(sock.fileno())) as ours:
                ours.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def _send(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def _is_ready(self) -> bool:
        return not (self._paused or self.write_blocked or self._waits)

    def _sent(self) -> None:
        if self.write_blocked:  # the endpoint may be just writing: it goes on in the next turn
            asyncio.get_running_loop().call_soon(self._unclog)

    def _taken(self) -> None:
        """The inward way has brought something, or is to wait."""
        self._account()
        self._watch()


def _at_once(act: Callable[[], None]) -> None:
    act()


def _addr(name: object) -> str:
    if not isinstance(name, tuple):
        return "unknown:0"  # after a peer that vanished at once, asyncio has no name for it
    # A socket for both families says so of a peer that came by IPv4.
    return format_host((name[0].removeprefix("::ffff:"), name[1]))
