"""The port for gRPC clients."""

from __future__ import annotations

from importlib.util import find_spec

from fakemq.config.checked import whole
from fakemq.errors import ConfigError


def grpc_port(given: int) -> int:
    """Return the port of an option, 0 for a free one; raise ConfigError."""
    port = whole("grpc", given, 0, 65535)
    try:
        found = find_spec("google.protobuf")
    except ModuleNotFoundError:  # there is no package `google` at all
        found = None
    if found is None:
        raise ConfigError(
            f"grpc={port} needs an extra that is not installed: pip install 'fakemq[grpc]'"
        )
    return port
