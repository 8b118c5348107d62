"""The name server's key-value store."""

from __future__ import annotations

from fakemq.protocol.header import Header


class PutKVConfigRequestHeader(Header):
    """Source: common/protocol/header/namesrv/PutKVConfigRequestHeader.java (4.9.7)"""

    namespace: str
    key: str
    value: str


class GetKVConfigRequestHeader(Header):
    """Source: common/protocol/header/namesrv/GetKVConfigRequestHeader.java (4.9.7)"""

    namespace: str
    key: str


class GetKVConfigResponseHeader(Header):
    """Source: common/protocol/header/namesrv/GetKVConfigResponseHeader.java (4.9.7)"""

    value: str | None = None


class DeleteKVConfigRequestHeader(Header):
    """Source: common/protocol/header/namesrv/DeleteKVConfigRequestHeader.java (4.9.7)"""

    namespace: str
    key: str


class GetKVListByNamespaceRequestHeader(Header):
    """Source: common/protocol/header/namesrv/GetKVListByNamespaceRequestHeader.java (4.9.7)"""

    namespace: str
