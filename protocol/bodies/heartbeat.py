"""Heartbeats: what a client produces for and consumes."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from msgspec import Meta, field

from fakemq.protocol import fastjson
from fakemq.protocol.bodies.body import Body, Int, Long, remembered
from fakemq.protocol.java import enum_pattern

ConsumeType: TypeAlias = Annotated[
    str, Meta(pattern=enum_pattern("CONSUME_ACTIVELY", "CONSUME_PASSIVELY", "CONSUME_POP"))
]
"""The last is new in 5.5.0. Source: common/protocol/heartbeat/ConsumeType.java (4.9.7)"""

MessageModel: TypeAlias = Annotated[str, Meta(pattern=enum_pattern("BROADCASTING", "CLUSTERING"))]
"""Source: common/protocol/heartbeat/MessageModel.java (4.9.7)"""

ConsumeFromWhere: TypeAlias = Annotated[
    str,
    Meta(
        pattern=enum_pattern(
            "CONSUME_FROM_LAST_OFFSET",
            "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
            "CONSUME_FROM_MIN_OFFSET",
            "CONSUME_FROM_MAX_OFFSET",
            "CONSUME_FROM_FIRST_OFFSET",
            "CONSUME_FROM_TIMESTAMP",
        )
    ),
]
"""Source: common/consumer/ConsumeFromWhere.java (4.9.7)"""


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
    consume_type: ConsumeType | None = None
    message_model: MessageModel | None = None
    consume_from_where: ConsumeFromWhere | None = None
    subscription_data_set: list[SubscriptionData] = field(default_factory=list)
    unit_mode: bool = False


class ProducerData(Body):
    """Source: common/protocol/heartbeat/ProducerData.java (4.9.7)"""

    group_name: str | None = None


class HeartbeatData(Body):
    """Source: common/protocol/heartbeat/HeartbeatData.java (4.9.7)"""

    needs: ClassVar[tuple[str, ...]] = ("consumerDataSet",)  # see `fakemq.protocol.beans.NEEDS`

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
