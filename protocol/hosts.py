"""Hosts as records and ids keep them: ``ip 4 or 16 | port int32``.

In Python a host is a pair of an address in its usual text form and a port.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Final, TypeAlias

from fakemq.protocol.errors import LocalProtocolError

Host: TypeAlias = tuple[str, int]

V4_HOST_BYTES: Final = 8
V6_HOST_BYTES: Final = 20

_PORT: Final = struct.Struct(">i")
_V4: Final = struct.Struct(">BBBBi")


def host_of(addr: str) -> str:
    """Return the host in ``host:port``; an address of IPv6 without its brackets."""
    return addr.rpartition(":")[0].removeprefix("[").removesuffix("]")


@lru_cache(maxsize=4096)
def pack_host(host: Host) -> bytes:
    """8 bytes for an IPv4 address, 20 for IPv6; LocalProtocolError for anything else."""
    ip, port = host
    try:
        if ":" in ip:
            from ipaddress import IPv6Address  # few ever need it

            return IPv6Address(ip).packed + _PORT.pack(port)
        return _V4.pack(*map(int, ip.split(".")), port)
    except (ValueError, struct.error) as error:
        raise LocalProtocolError(
            f"{ip!r}, {port!r} is no IP address and port; a record keeps no host names"
        ) from error


@lru_cache(maxsize=4096)
def unpack_host(packed: bytes) -> Host:
    """Return the host of 8 or 20 bytes."""
    if len(packed) == V4_HOST_BYTES:
        a, b, c, d, port = _V4.unpack(packed)
        return f"{a}.{b}.{c}.{d}", port
    from ipaddress import IPv6Address

    return IPv6Address(packed[:16]).compressed, _PORT.unpack_from(packed, 16)[0]


@lru_cache(maxsize=4096)
def parse_host(text: str) -> Host:
    """Return the host in ``ip:port`` or ``[ip]:port``; LocalProtocolError for anything else."""
    ip, _, port = text.rpartition(":")
    try:
        host = ip.removeprefix("[").removesuffix("]"), int(port)
    except ValueError:
        raise LocalProtocolError(f"{text!r} is not written ip:port") from None
    pack_host(host)
    return host


@lru_cache(maxsize=4096)
def record_host(addr: str) -> Host:
    """Return the IP address and port of ``host:port`` as a record keeps them.

    A record has no place for a name. A peer inside the cluster (``memory:7``) and a broker whose
    brokerIP1 is a host name are therefore kept as the local host; no name is ever resolved.
    """
    try:
        return parse_host(addr)
    except LocalProtocolError:
        return "127.0.0.1", int(addr.rpartition(":")[2])


@lru_cache(maxsize=256)
def own_host(ip: str, port: int) -> Host:
    """Return the store host of the broker that listens at ``ip:port``, as `record_host` does."""
    return record_host(f"{ip}:{port}")


def bracketed(host: str) -> str:
    """Return a host as it is written before a port: an IPv6 address gets brackets.

    Source: remoting/common/RemotingUtil.java#normalizeHostAddress (4.9.7)
    """
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def format_host(host: Host) -> str:
    """``ip:port``, or ``[ip]:port`` for IPv6."""
    ip, port = host
    return f"{bracketed(ip)}:{port}"


def vip_addr_beside(addr: str) -> str:
    """Return the address of the fast port beside a main one; a text without a port stays as it is.

    Source: common/MixAll.java#brokerVIPChannel (4.9.7)
    """
    host, _, port = addr.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and len(port) <= 5
    return f"{host}:{int(port) - 2}" if is_port else addr
