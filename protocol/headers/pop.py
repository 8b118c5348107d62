"""Popping: receiving messages that become visible again unless they are acknowledged in time."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long
from fakemq.protocol.headers.rpc import RpcRequestHeader


class PopMessageRequestHeader(RpcRequestHeader):
    """Times are in milliseconds; ``born_time`` is the client's clock.

    Source: remoting/protocol/header/PopMessageRequestHeader.java (5.5.0)
    """

    consumer_group: str
    topic: str
    queue_id: int = 0
    max_msg_nums: int = 0
    invisible_time: Long = 0
    poll_time: Long = 0
    born_time: Long = 0
    init_mode: int = 0
    exp_type: str | None = None
    exp: str | None = None
    order: bool = False
    attempt_id: str | None = None


class PopMessageResponseHeader(Header):
    """Source: remoting/protocol/header/PopMessageResponseHeader.java (5.5.0)"""

    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: int = 0
    rest_num: Long = 0
    start_offset_info: str | None = None
    msg_offset_info: str | None = None
    order_count_info: str | None = None


class PeekMessageRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/PeekMessageRequestHeader.java (5.5.0)"""

    consumer_group: str
    topic: str
    queue_id: int = 0
    max_msg_nums: int = 0


class AckMessageRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/AckMessageRequestHeader.java (5.5.0)"""

    consumer_group: str | None = None
    topic: str
    queue_id: int
    extra_info: str | None = None
    offset: Long
    lite_topic: str | None = None


class ChangeInvisibleTimeRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/ChangeInvisibleTimeRequestHeader.java (5.5.0)"""

    consumer_group: str | None = None
    topic: str
    queue_id: int
    extra_info: str | None = None
    offset: Long
    invisible_time: Long
    lite_topic: str | None = None
    suspend: bool = False


class ChangeInvisibleTimeResponseHeader(Header):
    """Source: remoting/protocol/header/ChangeInvisibleTimeResponseHeader.java (5.5.0)"""

    pop_time: Long = 0
    invisible_time: Long = 0
    revive_qid: int = 0


class NotificationRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/NotificationRequestHeader.java (5.5.0)"""

    consumer_group: str
    topic: str
    queue_id: int = 0
    poll_time: Long = 0
    born_time: Long = 0
    order: bool = False
    attempt_id: str | None = None
    exp_type: str | None = None
    exp: str | None = None


class NotificationResponseHeader(Header):
    """Source: remoting/protocol/header/NotificationResponseHeader.java (5.5.0)"""

    has_msg: bool = False
    polling_full: bool = False


class PollingInfoRequestHeader(RpcRequestHeader):
    """Source: remoting/protocol/header/PollingInfoRequestHeader.java (5.5.0)"""

    consumer_group: str
    topic: str
    queue_id: int = 0


class PollingInfoResponseHeader(Header):
    """Source: remoting/protocol/header/PollingInfoResponseHeader.java (5.5.0)"""

    polling_num: int = 0
