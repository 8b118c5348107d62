"""The sockets of a carrier that waits for them by a selector, in whichever thread it has."""

from __future__ import annotations

import logging
import selectors
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.client.carrier import OnRequest, Reply
from fakemq.client.carriers.connections import Channel
from fakemq.client.carriers.sockets import Wants, Wire, numeric_address
from fakemq.client.carriers.turns import Turns
from fakemq.client.operation import Call
from fakemq.clock.machine_time import MachineTime
from fakemq.clock.timers import Timer
from fakemq.forked_sockets import close_in_children

if TYPE_CHECKING:
    from fakemq.protocol.signature import Credentials
    from fakemq.tls.contexts import ClientTls

_log = logging.getLogger("fakemq.client")

_EVENTS = {
    Wants.CONNECT: selectors.EVENT_WRITE,
    Wants.READ: selectors.EVENT_READ,
    Wants.READ_AND_WRITE: selectors.EVENT_READ | selectors.EVENT_WRITE,
    Wants.NOTHING: 0,
}
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_CONNECT, _READ_AND_WRITE = Wants.CONNECT, Wants.READ_AND_WRITE


class Selecting(MachineTime):
    """What two carriers share: connections, their sockets, and timers; used by one thread."""

    def __init__(self, credentials: Credentials | None, tls: ClientTls | None) -> None:
        self._turns = Turns(self, credentials, tls)
        self.connections = self._turns.connections
        self._wires: dict[Channel, Wire] = {}
        self._selector = selectors.DefaultSelector()
        close_in_children(self._selector)

    # -- the carrier of its tasks -------------------------------------------------

    @property
    def on_request(self) -> OnRequest:
        """Takes the requests of brokers."""
        return self.connections.on_request

    @on_request.setter
    def on_request(self, on_request: OnRequest) -> None:
        self.connections.on_request = on_request

    def call_later(self, delay_ms: int, callback: Callable[[], None], *, kind: str) -> Timer:
        """Call ``callback`` after ``delay_ms``."""
        return self._turns.call_later(delay_ms, callback, kind=kind)

    def soon(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the present call has returned."""
        self._turns.soon(callback)

    def request(self, call: Call, reply: Reply) -> None:
        """Send a request; pass its response or error to ``reply``."""
        self.connections.request(call, reply)

    # -- the host of its connections ------------------------------------------------

    def connect(self, channel: Channel) -> None:
        """Begin to connect a channel; a name is resolved first."""
        wire = self._wires[channel] = Wire(channel, self._wants_changed)
        address = numeric_address(channel.addr)
        if address is None:
            self._connect_by_name(channel, wire)
        else:
            wire.connect([address])

    def _connect_by_name(self, channel: Channel, wire: Wire) -> None:
        """Resolve the name of a channel's address, and connect its wire."""
        raise NotImplementedError

    def write(self, channel: Channel) -> None:
        """Write what a channel has to send."""
        wire = self._wires.get(channel)
        if wire is not None:
            wire.write()

    def disconnect(self, channel: Channel) -> None:
        """Close the socket of a channel."""
        wire = self._wires.pop(channel, None)
        if wire is not None:
            wire.close()

    def turn_needed(self, delay_ms: int) -> None:
        """Nothing to do: before each turn its owner computes how long it may sleep."""

    def _ready(self, wire: Wire, events: int) -> None:
        """Connect, read or write, as a socket is ready to; log an error, which is for no other."""
        try:
            if wire.wants is _CONNECT:
                wire.connect_ready()
                return
            if events & READ and (data := wire.receive()) is not None:
                wire.take(data)
            if events & WRITE and wire.wants is _READ_AND_WRITE:
                wire.write()
        except Exception:
            _log.exception("the connection to %s failed", wire.channel.addr)

    def _wants_changed(self, wire: Wire, sock: socket.socket, before: Wants) -> None:
        events = _EVENTS[wire.wants]
        if not events:
            if before is not Wants.NOTHING:
                self._selector.unregister(sock)
            sock.close()
        elif before is Wants.NOTHING:
            self._selector.register(sock, events, wire)
        else:
            self._selector.modify(sock, events, wire)
