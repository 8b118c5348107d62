"""gRPC messages in a stream of bytes: one byte of flags, four of length, then the message."""

from __future__ import annotations

import zlib
from collections.abc import Generator
from typing import Final

from fakemq.protocol.limits import MESSAGE_BODY_MAX_BYTES

MESSAGE_MAX_BYTES: Final = 130 * 1024 * 1024
"""A message from a client. Source: proxy/config/ProxyConfig.java#grpcMaxInboundMessageSize (5.5.0)
"""

PREFIX_BYTES: Final = 5


class MessageError(Exception):
    """A message that cannot be taken: its stream is reset, as grpc-java does."""


def framed(message: bytes) -> bytes:
    """Return a message with its prefix, not compressed."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def whole_message(data: bytes) -> bytes | None:
    """Return the message that bytes are, if they are just one, plain and with its prefix."""
    size_bytes = len(data) - PREFIX_BYTES
    if (
        size_bytes >= 0
        and not data[0]
        and int.from_bytes(data[1:PREFIX_BYTES], "big") == size_bytes
    ):
        return data[PREFIX_BYTES:]
    return None


class MessageReader:
    """Cuts one stream's bytes into messages.

    ``encoding`` is the value of the header ``grpc-encoding``; ``max_bytes`` limits each message as
    it arrives, ``inflated_max_bytes`` one that was compressed.
    """

    def __init__(
        self,
        encoding: str = "identity",
        max_bytes: int = MESSAGE_MAX_BYTES,
        inflated_max_bytes: int = MESSAGE_BODY_MAX_BYTES,
    ) -> None:
        self._encoding = encoding
        self._max_bytes = max_bytes
        self._inflated_max_bytes = inflated_max_bytes
        self._buffer = bytearray()

    @property
    def held_bytes(self) -> int:
        """The size of a message that has not arrived whole."""
        return len(self._buffer)

    def receive(self, data: bytes) -> Generator[bytes, None, None]:
        """Take bytes; yield the messages that are whole now, one after another.

        A message is inflated when it is asked for. Those that a closed generator has not yielded
        come with the next call. Raise MessageError.
        """
        buffer = self._buffer
        buffer += data
        start, end = 0, len(buffer)
        try:
            while end - start >= PREFIX_BYTES:
                flag = buffer[start]
                size_bytes = int.from_bytes(buffer[start + 1 : start + PREFIX_BYTES], "big")
                self._check(flag, size_bytes)
                stop = start + PREFIX_BYTES + size_bytes
                if stop > end:
                    break
                message = bytes(memoryview(buffer)[start + PREFIX_BYTES : stop])
                start = stop
                yield self._inflated(message) if flag else message
        finally:
            del buffer[:start]

    def _check(self, flag: int, size_bytes: int) -> None:
        """Raise MessageError for a prefix that no message may have.

        Source: io/grpc/internal/MessageDeframer.java#processHeader (grpc-java)
        """
        if flag & 0xFE:
            raise MessageError("gRPC frame header malformed: reserved bits not zero")
        if size_bytes > self._max_bytes:
            raise MessageError(f"gRPC message exceeds maximum size {self._max_bytes}: {size_bytes}")
        if flag and self._encoding == "identity":
            raise MessageError("Can't decode compressed gRPC message as compression not configured")

    def _inflated(self, message: bytes) -> bytes:
        stream = zlib.decompressobj(wbits=31)
        try:
            plain = stream.decompress(message, self._inflated_max_bytes)
        except zlib.error as error:
            raise MessageError(f"cannot inflate the message: {error}") from None
        if stream.unconsumed_tail:
            raise MessageError(
                f"Decompressed gRPC message exceeds maximum size {self._inflated_max_bytes}"
            )
        if not stream.eof:
            raise MessageError("cannot inflate the message: it ends early")
        return plain
