"""Subscription groups as a broker keeps them."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.topic import DataVersion


class SubscriptionGroupConfig(Body):
    """Source: common/subscription/SubscriptionGroupConfig.java (4.9.7)"""

    named: ClassVar[bool] = True  # see `fakemq.protocol.fastjson.NAMED`

    group_name: str  # may be null in Java, until a table of groups is indexed with it
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    retry_queue_nums: Int = 1
    retry_max_times: Int = 16
    broker_id: Long = 0
    which_broker_when_consume_slowly: Long = 1
    notify_consumer_ids_changed_enable: bool = True


class SubscriptionGroupWrapper(Body):
    """Source: common/protocol/body/SubscriptionGroupWrapper.java (4.9.7)"""

    subscription_group_table: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


class GroupList(Body):
    """Source: common/protocol/body/GroupList.java (4.9.7)"""

    group_list: list[str] = field(default_factory=list)
