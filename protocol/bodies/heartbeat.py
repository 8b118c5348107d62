"""Heartbeats: what a client produces for and consumes."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol import fastjson
from fakemq.protocol.bodies.body import Body, Int, Long, remembered


class SubscriptionData(Body):
    """What a consumer wants of one topic. ``sub_version`` is a time; Java's default is now.

    Source: common/protocol/heartbeat/SubscriptionData.java (4.9.7)
    """

    class_filter_mode: bool = False
    topic: str | None = None
    sub_string: str | None = None
    tags_set: list[str] = field(default_factory=list)
    code_set: list[Int] = field(default_factory=list)
    sub_version: Long = 0
    expression_type: str | None = "TAG"


class ConsumerData(Body):
    """One group as one client consumes it; the three modes are names of Java enums.

    Source: common/protocol/heartbeat/ConsumerData.java (4.9.7)
    """

    group_name: str | None = None
    consume_type: str | None = None
    message_model: str | None = None
    consume_from_where: str | None = None
    subscription_data_set: list[SubscriptionData] = field(default_factory=list)
    unit_mode: bool = False


class ProducerData(Body):
    """Source: common/protocol/heartbeat/ProducerData.java (4.9.7)"""

    group_name: str | None = None


class HeartbeatData(Body):
    """Source: common/protocol/heartbeat/HeartbeatData.java (4.9.7)"""

    client_id: str | None = field(default=None, name="clientID")
    producer_data_set: list[ProducerData] = field(default_factory=list)
    consumer_data_set: list[ConsumerData] = field(default_factory=list)

    def encode(self) -> bytes:
        """Return the JSON of this heartbeat."""
        return remembered(self, fastjson.encode)


class CheckClientRequestBody(Body):
    """Source: common/protocol/body/CheckClientRequestBody.java (4.9.7)"""

    client_id: str | None = None
    group: str | None = None
    subscription_data: SubscriptionData | None = None


class GetConsumerListByGroupResponseBody(Body):
    """Source: common/protocol/header/GetConsumerListByGroupResponseBody.java (4.9.7)"""

    consumer_id_list: list[str] | None = None

    def encode(self) -> bytes:
        """Return the JSON of this list."""
        return remembered(self, fastjson.encode)
