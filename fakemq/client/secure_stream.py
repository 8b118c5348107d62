"""TLS over a stream of anyio."""

from __future__ import annotations

import logging

import anyio
from anyio.abc import ByteStream

from fakemq.tls.stream import TlsError, TlsStream

_log = logging.getLogger("fakemq.client")


class SecureStream(ByteStream):
    """A stream whose bytes are encrypted; `shake_hands` comes first."""

    def __init__(self, stream: ByteStream, tls: TlsStream, addr: str) -> None:
        self._stream = stream
        self._tls = tls
        self._addr = addr
        self._early = b""
        """Plain bytes that came with the end of the handshake."""
        self._sending = anyio.Lock()

    async def shake_hands(self) -> None:
        """Agree on TLS with the peer; raise TlsError, and the errors of the stream."""
        self._tls.start()
        await self._flush()
        while self._tls.handshaking:
            try:
                self._early = self._tls.receive(await self._stream.receive())
            except anyio.EndOfStream:
                raise TlsError("the peer closed the connection during the handshake") from None
            finally:
                await self._flush()  # after an error an alert: the peer sees the reason, too

    async def receive(self, max_bytes: int = 65_536) -> bytes:
        """Return the next plain bytes of the peer."""
        if self._early:
            early, self._early = self._early, b""
            return early
        while True:
            try:
                plain = self._tls.receive(await self._stream.receive(max_bytes))
            except TlsError as error:
                _log.warning("the connection to %s is closed: TLS: %s", self._addr, error)
                await self._flush()
                raise anyio.BrokenResourceError from error
            await self._flush()
            if plain:
                return plain
            if self._tls.ended:
                raise anyio.EndOfStream

    async def send(self, item: bytes) -> None:
        """Send bytes, encrypted."""
        async with self._sending:
            try:
                self._tls.write(item)
            except TlsError as error:
                raise anyio.BrokenResourceError from error
            await self._stream.send(self._tls.data_to_send())

    async def _flush(self) -> None:
        # `send` may wait until the peer reads, and the peer until this end does: with nothing to
        # send, this end reads on.
        if self._tls.has_data_to_send:
            async with self._sending:
                if data := self._tls.data_to_send():  # else a `send` took it along
                    await self._stream.send(data)

    async def send_eof(self) -> None:
        """TLS closes both directions at once."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()
