"""TLS between a TCP connection and its link: the part of a transport that the link uses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from fakemq.tls.stream import TlsError, TlsStream

HANDSHAKE_TIMEOUT_S = 10.0
"""How long a handshake may take, in real seconds; Netty's SslHandler has the same limit."""


class TlsTransport:
    """A transport that encrypts what is written; `received` decrypts what arrived.

    ``refuse`` is called with the reason when the peer breaks TLS or is late, and closes the
    connection, unless the node is paused: call `check_time` when it is resumed.
    """

    def __init__(
        self, transport: asyncio.Transport, stream: TlsStream, refuse: Callable[[str], None]
    ) -> None:
        self._transport = transport
        self._stream = stream
        self._refuse = refuse
        self._is_late = False
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_TIMEOUT_S, self._time_out)

    def start(self) -> None:
        """Begin the handshake of an end that connects."""
        self._stream.start()
        self._flush()

    @property
    def held_bytes(self) -> int:
        """The memory that the peer makes this end hold for bytes that are not plain yet."""
        return self._stream.held_bytes

    @property
    def handshaking(self) -> bool:
        """Whether the two ends have not agreed on TLS yet."""
        return self._stream.handshaking

    @property
    def ended(self) -> bool:
        """Whether the peer has closed its end by TLS: the next `resume_reading` closes."""
        return self._stream.ended

    def received(self, data: bytes) -> bytes:
        """Return the plain bytes of what arrived, none if there are none yet."""
        try:
            plain = self._stream.receive(data)
        except TlsError as error:
            self._flush()  # an alert: the peer sees the reason, too
            self._refuse(f"TLS: {error}")
            return b""
        self._flush()
        if not self._stream.handshaking:
            self._timer.cancel()
        return plain

    def _time_out(self) -> None:
        self._is_late = True
        self.check_time()

    def check_time(self) -> None:
        """Refuse a peer whose handshake has taken too long, and is not over yet."""
        if self._is_late and self._stream.handshaking:
            self._refuse(f"TLS: the handshake is not over after {HANDSHAKE_TIMEOUT_S:g} s")

    def stop(self) -> None:
        """The connection is lost: forget the link, which would otherwise wait for a collection."""
        self._timer.cancel()
        self._refuse = _nothing

    def _flush(self) -> None:
        data = self._stream.data_to_send()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    # -- the transport ------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        try:
            self._stream.write(data)
        except TlsError as error:  # on the next turn: the endpoint may be writing now
            asyncio.get_running_loop().call_soon(self._refuse, f"TLS: {error}")
            return
        self._flush()

    def close(self) -> None:
        if not self._transport.is_closing():
            self._stream.close()
            self._flush()
        self._timer.cancel()
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def pause_reading(self) -> None:
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on; after the peer's end close, because nothing follows."""
        if self._stream.ended:
            self.close()
        else:
            self._transport.resume_reading()

    def get_write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    def get_extra_info(self, name: str) -> Any:
        return self._transport.get_extra_info(name)


def _nothing(why: str) -> None:
    pass
