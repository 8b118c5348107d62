"""The port for gRPC clients."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from fakemq.config.checked import whole
from fakemq.errors import ConfigError
from fakemq.protocol.networks import networks


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


def proxy_protocol_from(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the addresses and networks whose PROXY headers are believed; raise ConfigError."""
    listed = (given,) if isinstance(given, str) else given
    texts = tuple(part.strip() for text in listed for part in str(text).split(","))
    for text in texts:
        try:
            networks([text])
        except ValueError as error:
            raise ConfigError(
                f"proxy_protocol_from={text!r}: {error}: expected an address such as 10.0.0.1,"
                " or a network such as 10.0.0.0/8"
            ) from None
    return texts
