"""The tables of topics and groups, as slaves and mqadmin of 5.5.0 fetch them."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
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
