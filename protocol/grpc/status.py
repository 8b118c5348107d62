"""How a gRPC call ends: status codes, and their texts in trailers."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

TEXT_MAX_BYTES: Final = 2048
"""A text in trailers: peers refuse headers of over 8 KiB, and a byte may become three."""


class GrpcStatus(IntEnum):
    """The status of a call. Source: grpc/doc/statuscodes.md"""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


def percent_encoded(text: str) -> str:
    """Return a text as the value of ``grpc-message``: visible ASCII, all else as ``%XX``.

    Source: grpc/doc/PROTOCOL-HTTP2.md, "Status-Message"
    """
    data = text.encode("utf-8", "replace")
    if len(data) > TEXT_MAX_BYTES:
        data = data[: TEXT_MAX_BYTES - 3] + b"..."
        text = data.decode("utf-8", "ignore")
        data = text.encode()
    if text.isascii() and text.isprintable() and "%" not in text:
        return text
    return "".join(
        chr(byte) if 0x20 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02X}" for byte in data
    )
