"""gRPC messages in a stream of bytes: one byte of flags, four of length, then the message."""

from __future__ import annotations

import zlib
from typing import Final

from fakemq.protocol.limits import MESSAGE_BODY_MAX_BYTES

MESSAGE_MAX_BYTES: Final = 130 * 1024 * 1024
"""A message from a client. Source: proxy/config/ProxyConfig.java#grpcMaxInboundMessageSize (5.5.0)
"""

PREFIX_BYTES: Final = 5


class MessageError(Exception):
    """A message that cannot be taken; ``code`` is the `GrpcStatus` with which its call ends."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def framed(message: bytes) -> bytes:
    """Return a message with its prefix, not compressed."""
    return b"\0" + len(message).to_bytes(4, "big") + message


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

    def receive(self, data: bytes) -> list[bytes]:
        """Take bytes; return the messages that are whole now. Raise MessageError."""
        if not self._buffer and len(data) >= PREFIX_BYTES and not data[0]:
            size_bytes = int.from_bytes(data[1:5], "big")
            if len(data) == size_bytes + PREFIX_BYTES and size_bytes <= self._max_bytes:
                return [data[PREFIX_BYTES:]]  # the usual case: one message, whole and plain
        buffer = self._buffer
        buffer += data
        messages = []
        start, end = 0, len(buffer)
        while end - start >= PREFIX_BYTES:
            flag, size_bytes = buffer[start], int.from_bytes(buffer[start + 1 : start + 5], "big")
            self._check(flag, size_bytes)
            stop = start + PREFIX_BYTES + size_bytes
            if stop > end:
                break
            message = bytes(memoryview(buffer)[start + PREFIX_BYTES : stop])
            messages.append(self._inflated(message) if flag else message)
            start = stop
        del buffer[:start]
        return messages

    def _check(self, flag: int, size_bytes: int) -> None:
        """Raise MessageError for a prefix that no message may have.

        Source: io/grpc/internal/MessageDeframer.java#processHeader (grpc-java)
        """
        if flag & 0xFE:
            raise MessageError(13, "gRPC frame header malformed: reserved bits not zero")
        if size_bytes > self._max_bytes:
            raise MessageError(
                8, f"gRPC message exceeds maximum size {self._max_bytes}: {size_bytes}"
            )
        if flag and self._encoding == "identity":
            raise MessageError(
                13, "Can't decode compressed gRPC message as compression not configured"
            )

    def _inflated(self, message: bytes) -> bytes:
        stream = zlib.decompressobj(wbits=31)
        try:
            plain = stream.decompress(message, self._inflated_max_bytes)
        except zlib.error as error:
            raise MessageError(13, f"cannot inflate the message: {error}") from None
        if stream.unconsumed_tail:
            raise MessageError(
                8, f"Decompressed gRPC message exceeds maximum size {self._inflated_max_bytes}"
            )
        if not stream.eof:
            raise MessageError(13, "cannot inflate the message: it ends early")
        return plain
