"""JSON of lite topics: subscriptions, and what tools ask.

Source: common/lite/*.java, remoting/protocol/body/*Lite*.java (5.5.0)
"""

from __future__ import annotations

from typing import Final

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.stats import TopicOffset
from fakemq.protocol.v5.bodies.stats import OffsetWrapper5

POLICY, OFFSET, TAIL_N, TIMESTAMP = "POLICY", "OFFSET", "TAIL_N", "TIMESTAMP"
POLICY_LAST, POLICY_MIN, POLICY_MAX = 0, 1, 2


class OffsetOption(Body):
    """Where a subscription begins. Source: common/lite/OffsetOption.java (5.5.0)"""

    type: str | None = None
    value: Long = 0


FROM_MIN: Final = OffsetOption(type=POLICY, value=POLICY_MIN)


class LiteSubscriptionDTO(Body):
    """One change of a subscription. Source: common/lite/LiteSubscriptionDTO.java (5.5.0)"""

    action: str | None = None
    client_id: str | None = None
    group: str | None = None
    lite_topic_set: list[str] | None = None
    offset_option: OffsetOption | None = None
    topic: str | None = None
    version: Long = 0


class LiteSubscriptionCtlRequestBody(Body):
    """Source: remoting/protocol/body/LiteSubscriptionCtlRequestBody.java (5.5.0)"""

    subscription_set: list[LiteSubscriptionDTO] | None = None


class ClientGroup(Body):
    """A client as a member of a group. Source: common/entity/ClientGroup.java (5.5.0)"""

    client_id: str | None = None
    group: str | None = None


class GetBrokerLiteInfoResponseBody(Body):
    """Source: remoting/protocol/body/GetBrokerLiteInfoResponseBody.java (5.5.0)"""

    store_type: str | None = None
    max_lmq_num: Int = 0
    current_lmq_num: Int = 0
    lite_subscription_count: Int = 0
    order_info_count: Int = 0
    cq_table_size: Int = 0
    offset_table_size: Int = 0
    event_map_size: Int = 0
    topic_meta: dict[str, int] | None = None
    group_meta: dict[str, list[str]] | None = None


class GetParentTopicInfoResponseBody(Body):
    """Source: remoting/protocol/body/GetParentTopicInfoResponseBody.java (5.5.0)"""

    topic: str | None = None
    ttl: Int = 0
    groups: list[str] | None = None
    lmq_num: Int = 0
    lite_topic_count: Int = 0


class GetLiteTopicInfoResponseBody(Body):
    """Source: remoting/protocol/body/GetLiteTopicInfoResponseBody.java (5.5.0)"""

    parent_topic: str | None = None
    lite_topic: str | None = None
    subscriber: list[ClientGroup] | None = None
    topic_offset: TopicOffset | None = None
    sharding_to_broker: bool = False


class GetLiteClientInfoResponseBody(Body):
    """Source: remoting/protocol/body/GetLiteClientInfoResponseBody.java (5.5.0)"""

    parent_topic: str | None = None
    group: str | None = None
    client_id: str | None = None
    last_access_time: Long = 0
    last_consume_time: Long = 0
    lite_topic_count: Int = 0
    lite_topic_set: list[str] | None = None


class LiteLagInfo(Body):
    """How far a group is behind in one lite topic.

    Source: common/lite/LiteLagInfo.java (5.5.0)
    """

    lite_topic: str | None = None
    lag_count: Long = 0
    earliest_unconsumed_timestamp: Long = -1


class GetLiteGroupInfoResponseBody(Body):
    """Source: remoting/protocol/body/GetLiteGroupInfoResponseBody.java (5.5.0)"""

    group: str | None = None
    parent_topic: str | None = None
    lite_topic: str | None = None
    earliest_unconsumed_timestamp: Long = -1
    total_lag_count: Long = 0
    lite_topic_offset_wrapper: OffsetWrapper5 | None = None
    lag_count_top_k: list[LiteLagInfo] | None = field(default=None, name="lagCountTopK")
    lag_timestamp_top_k: list[LiteLagInfo] | None = field(default=None, name="lagTimestampTopK")
