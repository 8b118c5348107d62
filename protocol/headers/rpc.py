"""The base of headers that say which broker they are meant for."""

from __future__ import annotations

from fakemq.protocol.header import Header


class RpcRequestHeader(Header):
    """A header with the client's idea of the broker's name; a 4.9.7 broker does not look at it.

    Source: common/rpc/RpcRequestHeader.java (4.9.7)
    """

    bname: str | None = None
