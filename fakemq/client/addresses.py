"""Addresses of peers, ``host:port``: a name server may send any text for one."""

from __future__ import annotations

from fakemq.client.errors import RemotingConnectError

_PORT_MAX = 65_535


def split_addr(addr: str) -> tuple[str, int]:
    """Return host and port of ``host:port``; raise RemotingConnectError for an invalid address."""
    host, _, digits = addr.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    port = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= 5 else -1
    if not _is_host(host) or not 0 <= port <= _PORT_MAX:
        raise RemotingConnectError(addr)
    return host, port


def _is_host(host: str) -> bool:
    """Return whether sockets take this text for a host; for others they raise odd errors."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return bool(host) and host.isprintable()


def vip_addr(addr: str) -> str:
    """Return the address of a broker's fast port; raise RemotingConnectError as `split_addr`.

    Source: common/MixAll.java#brokerVIPChannel (4.9.7)
    """
    _, port = split_addr(addr)
    return f"{addr.rpartition(':')[0]}:{port - 2}"
