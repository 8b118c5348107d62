"""A TCP link whose peer may be a load balancer that says first for whom it connects.

Only named peers are believed. Java's proxy believes every peer, so that each may have the address
that rules of access control name.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from fakemq.net.link import EndpointT, Link
from fakemq.net.tcp import Door, TcpLink
from fakemq.protocol.hosts import format_host
from fakemq.protocol.networks import UNNAMED, Networks, contains

if TYPE_CHECKING:
    from fakemq.net.held import HeldBytes
    from fakemq.net.memory import OpenLinks
    from fakemq.tls.stream import TlsStream


class _PlainDoor:
    """The door of a port without TLS."""

    def stream_for(self, first_byte: int) -> None:
        return None


_KIND: Final = "PROXY headers"


class HeadedLink(TcpLink[EndpointT]):
    """A link that takes a PROXY header, if there is one, before TLS and everything else.

    Its ``remote_addr`` is then the one that the header names. The header of a peer that is not
    ``trusted`` ends the connection.
    Source: proxy/grpc/ProxyAndTlsProtocolNegotiator.java (5.5.0)
    """

    def __init__(
        self,
        make: Callable[[Link], EndpointT | None],
        held: HeldBytes | None = None,
        links: OpenLinks | None = None,
        door: Door | None = None,
        stream: TlsStream | None = None,
        *,
        trusted: Networks,
    ) -> None:
        super().__init__(make, held, links, door or _PlainDoor(), stream)
        self._trusted = trusted
        self._header: ProxyHeader | None = ProxyHeader()
        """None when its end, or its absence, is known."""

    def _decrypt(self, data: bytes) -> None:
        if self._header is not None:
            try:
                rest = self._header.receive(data)
            except ProxyHeaderError as error:
                self._refuse_header(str(error))
                return
            if self._header.found and not contains(self._trusted, self.remote_addr):
                self._refuse_header(UNNAMED)
                return
            if rest is None:
                self._count_unfinished()
                return
            self.remote_addr, self._header = self._header.source or self.remote_addr, None
            if not rest:
                return
            data = rest
        super()._decrypt(data)

    def _refuse_header(self, why: str) -> None:
        if self.endpoint is not None and not self._paused:  # a stopped process closes nothing
            self.endpoint.close_for_violation(why, _KIND)

    def _unfinished_bytes(self) -> int:
        held_bytes = 0 if self._header is None else self._header.held_bytes
        return super()._unfinished_bytes() + held_bytes


# The PROXY header that load balancers send at the start of a connection, version 1 and 2.
#
# Source: haproxy/doc/proxy-protocol.txt

_V1: Final = b"PROXY"
_V1_MAX_BYTES: Final = 107
_V2: Final = b"\r\n\r\n\0\r\nQUIT\n"
_V2_HEAD_BYTES: Final = 16
_V2_MAX_BYTES: Final = 4096
"""The addresses and what may follow them; the format allows 64 KiB, which no balancer sends."""
_ADDRESS_BYTES: Final = {0x10: 4, 0x20: 16}


class ProxyHeaderError(Exception):
    """A header that begins as one and is none."""


class ProxyHeader:
    """Takes the first bytes of a connection until it is known whether they are a header."""

    def __init__(self) -> None:
        self.source = ""
        """``host:port`` of the peer behind the balancer; "" if the header names none."""
        self.found = False
        """Whether the bytes so far begin as a header does."""
        self._data = b""

    @property
    def held_bytes(self) -> int:
        return len(self._data)

    def receive(self, data: bytes) -> bytes | None:
        """Return the bytes behind the header, all if there is none; None if more are needed.

        Raise ProxyHeaderError.
        """
        data = self._data = self._data + data
        for signature in (_V1, _V2):
            known = min(len(data), len(signature))
            if data[:known] == signature[:known]:
                if known < len(signature):
                    return None
                self.found = True
                return self._text(data) if signature is _V1 else self._binary(data)
        return data

    def _text(self, data: bytes) -> bytes | None:
        line, end, rest = data.partition(b"\r\n")
        if not end or len(line) + 2 > _V1_MAX_BYTES:
            if len(data) >= _V1_MAX_BYTES:
                raise ProxyHeaderError("a PROXY header of over 107 bytes")
            return None
        words = line.split(b" ")
        if words[1:2] == [b"UNKNOWN"]:
            return rest
        if len(words) != 6 or words[1] not in (b"TCP4", b"TCP6"):
            raise ProxyHeaderError("a PROXY header of an unknown form")
        try:
            host, port = str(ip_address(words[2].decode("ascii"))), int(words[4])
        except ValueError:
            raise ProxyHeaderError("a PROXY header with a wrong address") from None
        self.source = format_host((host, port & 0xFFFF))
        return rest

    def _binary(self, data: bytes) -> bytes | None:
        if len(data) < _V2_HEAD_BYTES:
            return None
        command, family, size_bytes = data[12], data[13], int.from_bytes(data[14:16], "big")
        if command not in (0x20, 0x21):
            raise ProxyHeaderError("a PROXY header of an unknown version")
        if size_bytes > _V2_MAX_BYTES:
            raise ProxyHeaderError(f"a PROXY header of over {_V2_MAX_BYTES} bytes")
        end = _V2_HEAD_BYTES + size_bytes
        if len(data) < end:
            return None
        address_bytes = _ADDRESS_BYTES.get(family & 0xF0, 0)
        if command == 0x21 and address_bytes:
            if size_bytes < 2 * address_bytes + 4:
                raise ProxyHeaderError("a PROXY header whose addresses are cut")
            host = ip_address(data[16 : 16 + address_bytes])
            at = 16 + 2 * address_bytes
            self.source = format_host((str(host), int.from_bytes(data[at : at + 2], "big")))
        return data[end:]
