"""A master of a test's own: its addresses, and the tables that it answers a slave."""

from __future__ import annotations

from fakemq.protocol.bodies.group import SubscriptionGroupWrapper
from fakemq.protocol.bodies.offset import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
)
from fakemq.protocol.bodies.topic import DataVersion, TopicConfig, TopicConfigSerializeWrapper
from fakemq.protocol.codes import RequestCode

MAIN, FAST = "10.0.0.9:10911", "10.0.0.9:10909"
TOPICS, OFFSETS = RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_CONSUMER_OFFSET
DELAYS, GROUPS = RequestCode.GET_ALL_DELAY_OFFSET, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG
VERSION = DataVersion(timestamp=1, counter=2)
GOOD: dict[int, bytes] = {
    TOPICS: TopicConfigSerializeWrapper(
        topic_config_table={"elsewhere": TopicConfig(topic_name="elsewhere")}, data_version=VERSION
    ).encode(),
    OFFSETS: ConsumerOffsetSerializeWrapper(offset_table={"orders@billing": {0: 7}}).encode(),
    DELAYS: DelayOffsetSerializeWrapper(offset_table={3: 5}).encode(),
    GROUPS: SubscriptionGroupWrapper(data_version=VERSION).encode(),
}
