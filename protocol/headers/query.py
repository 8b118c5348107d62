"""Looking up messages and consume queues."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long

UNIQUE_MSG_QUERY_FLAG = "_UNIQUE_KEY_QUERY"
"""An ext field besides QUERY_MESSAGE's header; "true" says that the key is a unique one."""


class QueryMessageRequestHeader(Header):
    """Source: common/protocol/header/QueryMessageRequestHeader.java (4.9.7)"""

    topic: str
    key: str
    max_num: int
    begin_timestamp: Long
    end_timestamp: Long


class QueryMessageResponseHeader(Header):
    """Source: common/protocol/header/QueryMessageResponseHeader.java (4.9.7)"""

    index_last_update_timestamp: Long
    index_last_update_phyoffset: Long


class ViewMessageRequestHeader(Header):
    """Source: common/protocol/header/ViewMessageRequestHeader.java (4.9.7)"""

    offset: Long


class ViewMessageResponseHeader(Header):
    """Source: common/protocol/header/ViewMessageResponseHeader.java (4.9.7)"""


class QueryConsumeQueueRequestHeader(Header):
    """Source: common/protocol/header/QueryConsumeQueueRequestHeader.java (4.9.7)"""

    topic: str | None = None
    queue_id: int = 0
    index: Long = 0
    count: int = 0
    consumer_group: str | None = None
