"""Sending, sending back and replying."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from fakemq.protocol.header import Header, Long
from fakemq.protocol.headers.rpc import RpcRequestHeader


class SendMessageRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/SendMessageRequestHeader.java (4.9.7)"""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: int
    queue_id: int
    sys_flag: int
    born_timestamp: Long
    flag: int
    properties: str | None = None
    reconsume_times: int | None = None
    unit_mode: bool = False
    batch: bool = False
    max_reconsume_times: int | None = None


class SendMessageRequestHeaderV2(SendMessageRequestHeader):
    """Source: common/protocol/header/SendMessageRequestHeaderV2.java (4.9.7)"""

    wire_names: ClassVar[Mapping[str, str]] = {
        "producer_group": "a",
        "topic": "b",
        "default_topic": "c",
        "default_topic_queue_nums": "d",
        "queue_id": "e",
        "sys_flag": "f",
        "born_timestamp": "g",
        "flag": "h",
        "properties": "i",
        "reconsume_times": "j",
        "unit_mode": "k",
        "max_reconsume_times": "l",
        "batch": "m",
        "bname": "n",
    }
    fast = True

    def to_v1(self) -> SendMessageRequestHeader:
        """Return the same header under its long names; what did not arrive stays absent."""
        header = SendMessageRequestHeader.__new__(SendMessageRequestHeader)
        header.__dict__.update(self.__dict__)
        return header

    @classmethod
    def from_v1(cls, header: SendMessageRequestHeader) -> Self:
        """Return the same header under its one-letter names."""
        short = cls.__new__(cls)
        short.__dict__.update(header.__dict__)
        return short


class SendMessageResponseHeader(Header):
    """Source: common/protocol/header/SendMessageResponseHeader.java (4.9.7)"""

    fast = True

    msg_id: str
    queue_id: int
    queue_offset: Long
    transaction_id: str | None = None


class ConsumerSendMsgBackRequestHeader(RpcRequestHeader):
    """Source: common/protocol/header/ConsumerSendMsgBackRequestHeader.java (4.9.7)"""

    offset: Long
    group: str
    delay_level: int
    origin_msg_id: str | None = None
    origin_topic: str | None = None
    unit_mode: bool = False
    max_reconsume_times: int | None = None


class ReplyMessageRequestHeader(Header):
    """Source: common/protocol/header/ReplyMessageRequestHeader.java (4.9.7)"""

    producer_group: str
    topic: str
    default_topic: str
    default_topic_queue_nums: int
    queue_id: int
    sys_flag: int
    born_timestamp: Long
    flag: int
    properties: str | None = None
    reconsume_times: int | None = None
    unit_mode: bool = False
    born_host: str
    store_host: str
    store_timestamp: Long = 0
