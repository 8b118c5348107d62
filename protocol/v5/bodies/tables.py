"""The tables of topics and groups, as slaves and mqadmin of 5.5.0 fetch them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Self

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.heartbeat import SubscriptionData
from fakemq.protocol.bodies.offset import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
    table_in_steps,
)
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.v5.bodies.version import DataVersion5


class TopicQueueMappingInfo(Body):
    """Which queues of a static topic a broker has; read from a master, and not used.

    Source: remoting/protocol/statictopic/TopicQueueMappingInfo.java (5.5.0)
    """

    topic: str | None = None
    scope: str | None = None
    total_queues: Int = 0
    bname: str | None = None
    epoch: Long = 0
    dirty: bool = False


class TopicConfigAndMappingSerializeWrapper(Body):
    """Topics, and the mappings of static topics, which are always empty here.

    Source: remoting/protocol/body/TopicConfigAndMappingSerializeWrapper.java (5.5.0)
    """

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion5 = field(default_factory=DataVersion5)
    mapping_data_version: DataVersion5 | None = None
    topic_queue_mapping_info_map: dict[str, TopicQueueMappingInfo] = field(default_factory=dict)
    topic_queue_mapping_detail_map: dict[str, TopicQueueMappingInfo] = field(default_factory=dict)


class SubscriptionGroupWrapper5(Body):
    """Groups, and the topics that each is forbidden, with bits that say why.

    Source: remoting/protocol/body/SubscriptionGroupWrapper.java (5.5.0)
    """

    subscription_group_table: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    forbidden_table: dict[str, dict[str, Int]] = field(default_factory=dict)
    data_version: DataVersion5 = field(default_factory=DataVersion5)


# Several topics or groups in one request of 5.5.0.


class CreateTopicListRequestBody(Body):
    """Source: remoting/protocol/body/CreateTopicListRequestBody.java (5.5.0)"""

    topic_config_list: list[TopicConfig] = field(default_factory=list)


class SubscriptionGroupList(Body):
    """Source: remoting/protocol/body/SubscriptionGroupList.java (5.5.0)"""

    group_config_list: list[SubscriptionGroupConfig] = field(default_factory=list)


# What 5.5.0 says of the subscriptions of groups.


class QuerySubscriptionResponseBody(Body):
    """Source: remoting/protocol/body/QuerySubscriptionResponseBody.java (5.5.0)"""

    subscription_data: SubscriptionData | None = None
    group: str | None = None
    topic: str | None = None


class GroupForbidden(Body):
    """Source: remoting/protocol/subscription/GroupForbidden.java (5.5.0)"""

    topic: str | None = None
    group: str | None = None
    readable: bool | None = None


# Offsets, in bodies with fields that only 5.5.0 has.


class DelayOffsetSerializeWrapper5(DelayOffsetSerializeWrapper):
    """Source: broker/schedule/DelayOffsetSerializeWrapper.java (5.5.0)"""

    data_version: DataVersion5 | None = None


class ConsumerOffsetSerializeWrapper5(ConsumerOffsetSerializeWrapper):
    """What code 43 answers. A slave takes ``offset_table`` and ``data_version``.

    ``group_topic_map`` has the topics of each group, ``pull_offset_table`` where its pulls got.
    Source: broker/offset/ConsumerOffsetManager.java#encode (5.5.0)
    """

    data_version: DataVersion5 | None = None
    group_topic_map: dict[str, list[str]] = field(default_factory=dict)
    pull_offset_table: dict[str, dict[int, Long]] = field(default_factory=dict)
    lmq_offset_table: dict[str, Long] | None = None
    """Of light groups, with enableLmq."""

    @classmethod
    def decode_in_steps(cls, data: bytes) -> Generator[None, None, Self]:
        """As that of the base class; of the other fields, only the version is read then."""
        begin, end = data.find(_TABLE), data.rfind(_AFTER_TABLE)
        if begin < 0 or end < begin:
            return cls.decode(data)
        table = yield from table_in_steps(b"{" + data[begin + 1 : end] + b"}")
        if table is None:
            return cls.decode(data)
        head = cls.decode(data[:begin] + b"}")
        return cls(offset_table=table, data_version=head.data_version)


_TABLE, _AFTER_TABLE = b',"offsetTable":', b',"pullOffsetTable":'
