"""A gRPC client of another make, grpcio's: what a real peer sends and expects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from fakemq.protocol.grpc.table import BY_NAME, SERVICE

TIMEOUT_S = 10.0
OPTIONS = [("grpc.use_local_subchannel_pool", 1)]
"""A channel has its own connection; a shared one waits for a second after it was refused."""


class GrpcClient:
    """One channel; ``ca_file`` has the authority of a server that speaks TLS."""

    def __init__(self, addr: str, ca_file: str = "") -> None:
        if ca_file:
            with open(ca_file, "rb") as file:
                trust = grpc.ssl_channel_credentials(file.read())
            self.channel = grpc.secure_channel(addr, trust, OPTIONS)
        else:
            self.channel = grpc.insecure_channel(addr, OPTIONS)

    def ask(self, name: str, request: Any, *, timeout_s: float = TIMEOUT_S, **metadata: str) -> Any:
        """Call a unary RPC; raise `grpc.RpcError`."""
        rpc = BY_NAME[name]
        method = self.channel.unary_unary(
            rpc.path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=rpc.response.FromString,
        )
        headers = [(key.replace("_", "-"), value) for key, value in metadata.items()]
        return method(request, timeout=timeout_s, metadata=headers)

    def telemetry(self, commands: list[Any], **metadata: str) -> Any:
        """Call Telemetry with some commands; return the answers, to be cancelled."""
        rpc = BY_NAME["Telemetry"]
        method = self.channel.stream_stream(
            rpc.path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=rpc.response.FromString,
        )
        headers = [(key.replace("_", "-"), value) for key, value in metadata.items()]
        return method(iter(commands), timeout=TIMEOUT_S, metadata=headers)

    def begin(self, path: str, data: bytes = b"") -> Any:
        """Begin a call of any path with any bytes; return grpcio's future."""
        return self.channel.unary_unary(path).future(data, timeout=TIMEOUT_S)

    def refused(self, path: str, data: bytes = b"") -> tuple[str, str]:
        """Call any path with any bytes; return the status and its text."""
        with_service = path if path.startswith("/") else f"/{SERVICE}/{path}"
        try:
            self.channel.unary_unary(with_service)(data, timeout=TIMEOUT_S)
        except grpc.RpcError as error:
            return error.code().name, error.details()
        return "OK", ""


@contextmanager
def grpc_client(addr: str, ca_file: str = "") -> Iterator[GrpcClient]:
    """Connect to ``host:port``."""
    client = GrpcClient(addr, ca_file)
    try:
        yield client
    finally:
        client.channel.close()
