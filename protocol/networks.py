"""Which peers may say for whom they connect: addresses and networks that an option names."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

Networks: TypeAlias = tuple[IPv4Network | IPv6Network, ...]

UNNAMED: Final = (
    "a PROXY header of an address that is not believed: if this is a load balancer, name its"
    " address by proxy_protocol_from (--proxy-protocol-from ADDRESS)"
)


def networks(texts: Iterable[str]) -> Networks:
    """Return addresses (``10.0.0.1``) and networks (``10.0.0.0/8``); raise ValueError."""
    return tuple(ip_network(text.strip()) for text in texts)


def contains(trusted: Networks, addr: str) -> bool:
    """Return whether a peer at ``host:port`` has an address of one of the networks."""
    if not trusted:
        return False
    try:
        host = ip_address(addr.rpartition(":")[0].strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = host.ipv4_mapped if host.version == 6 else None
    return any((mapped or host) in network for network in trusted)
