"""Subscription groups as a broker keeps them."""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.topic import DataVersion


class ExponentialRetryPolicy(Body):
    """Source: remoting/protocol/subscription/ExponentialRetryPolicy.java (5.5.0)"""

    initial: Long = 5_000
    max: Long = 7_200_000
    multiplier: Long = 2


class CustomizedRetryPolicy(Body):
    """Source: remoting/protocol/subscription/CustomizedRetryPolicy.java (5.5.0)"""

    next: list[Long] | None = None


class GroupRetryPolicy(Body):
    """Source: remoting/protocol/subscription/GroupRetryPolicy.java (5.5.0)"""

    type: str | None = "CUSTOMIZED"
    exponential_retry_policy: ExponentialRetryPolicy | None = None
    customized_retry_policy: CustomizedRetryPolicy | None = None


class SimpleSubscriptionData(Body):
    """Source: remoting/protocol/subscription/SimpleSubscriptionData.java (5.5.0)"""

    topic: str | None = None
    expression_type: str | None = None
    expression: str | None = None
    version: Long = 0


class SubscriptionGroupConfig(Body):
    """The fields from ``consume_message_orderly`` on are of 5.5.0; None leaves them out.

    Source: common/subscription/SubscriptionGroupConfig.java (4.9.7, 5.5.0)
    """

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
    consume_message_orderly: bool | None = None
    group_retry_policy: GroupRetryPolicy | None = None
    group_sys_flag: Int | None = None
    consume_timeout_minute: Int | None = None
    subscription_data_set: list[SimpleSubscriptionData] | None = None
    attributes: dict[str, str] | None = None


V5_SETTINGS = (
    *("consume_message_orderly", "group_retry_policy", "group_sys_flag"),
    *("consume_timeout_minute", "subscription_data_set", "attributes"),
)
"""The fields of a group that 4.9.7 does not know."""


class SubscriptionGroupWrapper(Body):
    """Source: common/protocol/body/SubscriptionGroupWrapper.java (4.9.7)"""

    subscription_group_table: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


class GroupList(Body):
    """Source: common/protocol/body/GroupList.java (4.9.7)"""

    group_list: list[str] = field(default_factory=list)
