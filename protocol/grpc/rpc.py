"""One RPC of a gRPC service, as data."""

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
