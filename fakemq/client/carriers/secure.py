"""TLS between a socket and its channel."""

from __future__ import annotations

import logging
from collections.abc import Callable

from fakemq.client.carriers.connections import Channel, ChannelState
from fakemq.tls.stream import TlsError, TlsStream

_log = logging.getLogger("fakemq.client")


class SecureEnd:
    """A channel behind TLS, as its wire uses a channel. It opens when the handshake is over.

    ``flush`` writes what `data_to_send` returns.
    """

    def __init__(self, channel: Channel, stream: TlsStream, flush: Callable[[], None]) -> None:
        self._channel = channel
        self._stream = stream
        self._flush = flush
        self._sending = memoryview(b"")

    def opened(self) -> None:
        """The peer accepted the connection: begin the handshake."""
        self._stream.start()
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Take the peer's bytes; pass the plain ones on."""
        channel, stream = self._channel, self._stream
        try:
            plain = stream.receive(data)
        except TlsError as error:
            self._flush()  # an alert: the peer sees the reason, too
            if channel.state is ChannelState.OPEN:
                _log.warning("the connection to %s is closed: TLS: %s", channel.addr, error)
            channel.connect_failed(f"TLS: {error}")
            channel.lost()
            return
        if not stream.handshaking:
            channel.opened()
        if plain:
            channel.data_received(plain)
        self._flush()  # after the bytes, which a failed write must not lose
        if stream.ended:
            channel.lost()

    def lost(self) -> None:
        """The connection ended."""
        self._channel.connect_failed("TLS: the peer closed the connection during the handshake")
        self._channel.lost()

    def data_to_send(self) -> memoryview:
        """Return bytes to write now, empty if there are none."""
        if not self._sending:
            if not self._stream.handshaking and (data := self._channel.data_to_send()):
                self._stream.write(data)
                self._channel.data_sent(len(data))
            self._sending = memoryview(self._stream.data_to_send())
        return self._sending

    def data_sent(self, count: int) -> None:
        """Take the number of bytes that were written of the last `data_to_send`."""
        self._sending = self._sending[count:]
