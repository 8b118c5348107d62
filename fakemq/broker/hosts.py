"""Addresses as records keep them."""

from __future__ import annotations

from functools import lru_cache

from fakemq.protocol.errors import LocalProtocolError
from fakemq.protocol.hosts import Host, parse_host


def record_host(addr: str) -> Host:
    """The IP address and port of ``host:port``.

    A record has no place for a name, so a peer inside the cluster (``memory:7``) and a broker
    whose brokerIP1 is a host name stand there as the local host; nothing is ever resolved.
    """
    try:
        return parse_host(addr)
    except LocalProtocolError:
        return "127.0.0.1", int(addr.rpartition(":")[2])


@lru_cache(maxsize=256)
def own_host(ip: str, port: int) -> Host:
    """What stands in records as the host of the broker that listens there."""
    return record_host(f"{ip}:{port}")
