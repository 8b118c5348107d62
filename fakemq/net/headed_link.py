"""A TCP link whose peer may be a load balancer that says first for whom it connects.

Only named peers are believed. Java's proxy believes every peer, so that each may have the address
that rules of access control name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from fakemq.net.link import EndpointT, Link
from fakemq.net.proxy_header import ProxyHeader, ProxyHeaderError
from fakemq.net.tcp import Door, TcpLink
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
