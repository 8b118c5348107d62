"""Several topics or groups in one request of 5.5.0."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.topic import TopicConfig


class CreateTopicListRequestBody(Body):
    """Source: remoting/protocol/body/CreateTopicListRequestBody.java (5.5.0)"""

    topic_config_list: list[TopicConfig] = field(default_factory=list)


class SubscriptionGroupList(Body):
    """Source: remoting/protocol/body/SubscriptionGroupList.java (5.5.0)"""

    group_config_list: list[SubscriptionGroupConfig] = field(default_factory=list)
