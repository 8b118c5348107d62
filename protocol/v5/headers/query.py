"""Looking up messages, in requests with fields that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.headers.query import QueryMessageRequestHeader


class QueryMessageRequestHeader5(QueryMessageRequestHeader):
    """Source: remoting/protocol/header/QueryMessageRequestHeader.java (5.5.0)"""

    index_type: str | None = None
    last_key: str | None = None
