"""How a request that becomes no call is refused, and how a status is written.

Source: io/grpc/netty/NettyServerHandler.java#onHeadersRead (grpc-java)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fakemq.protocol.grpc.status import GrpcStatus, percent_encoded

Fields = tuple[tuple[str, str], ...]

GRPC_FIELDS: Final = ((":status", "200"), ("content-type", "application/grpc"))
"""The fields of an answer that is a status alone."""


def refusal(headers: Mapping[str, str]) -> tuple[GrpcStatus, str, Fields]:
    """Return the status of a request without a handler, its text, and the fields before them."""
    path, method = headers.get(":path", ""), headers.get(":method")
    content_type = headers.get("content-type")
    if not path.startswith("/"):
        text = f"Expected path to start with /: {path}"
        return GrpcStatus.UNIMPLEMENTED, text, _of_http("404")
    if content_type is None:
        return GrpcStatus.INTERNAL, "Content-Type is missing from the request", _of_http("415")
    if not is_grpc(content_type):
        text = f"Content-Type '{content_type}' is not supported"
        return GrpcStatus.INTERNAL, text, _of_http("415")
    if method != "POST":
        return GrpcStatus.INTERNAL, f"Method '{method}' is not supported", _of_http("405")
    return GrpcStatus.UNIMPLEMENTED, f"Method not found: {path[1:]}", GRPC_FIELDS


def _of_http(status: str) -> Fields:
    return (":status", status), ("content-type", "text/plain; charset=utf-8")


def is_grpc(content_type: str) -> bool:
    """Return whether a content type is gRPC's.

    Source: io/grpc/internal/GrpcUtil.java#isGrpcContentType (grpc-java)
    """
    kind, rest = content_type[:16].lower(), content_type[16:17]
    return kind == "application/grpc" and rest in ("", "+", ";")


def trailers(status: GrpcStatus, text: str) -> list[tuple[str, str]]:
    """Return the fields that end a call."""
    trailers = [("grpc-status", str(int(status)))]
    if text:
        trailers.append(("grpc-message", percent_encoded(text)))
    return trailers
