"""One RPC of a gRPC service, as data, and how long its caller waits."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

REQUEST_MAX_BYTES: Final = 4 * 1024 * 1024
"""A request, also after it was inflated. RocketMQ takes 130 MiB. But two bytes, an empty part of a
message, take 80 in memory once they are read: no peer may make this end hold 5 GiB at once."""


class Rpc(NamedTuple):
    """One RPC: where it is asked for, and the classes of its messages."""

    service: str
    """The full name of its service."""
    name: str
    request: type[Any]
    """The class of requests; a subclass of protobuf's `Message`."""
    response: type[Any]
    request_stream: bool
    """Whether the caller sends any number of messages, not just one."""
    response_stream: bool
    request_max_bytes: int = REQUEST_MAX_BYTES

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.name}"


# The header ``grpc-timeout``: how long a caller waits.

_UNIT_NS: Final = {"n": 1, "u": 10**3, "m": 10**6, "S": 10**9, "M": 60 * 10**9, "H": 3600 * 10**9}
_MAX_DIGITS: Final = 8


def timeout_ms(value: str) -> int | None:
    """Return a ``grpc-timeout`` in milliseconds, rounded down; None for no such value.

    Source: grpc/doc/PROTOCOL-HTTP2.md, "Timeout"
    """
    digits, unit_ns = value[:-1], _UNIT_NS.get(value[-1:])
    if unit_ns is None or not digits.isascii() or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        return None
    return int(digits) * unit_ns // 1_000_000
