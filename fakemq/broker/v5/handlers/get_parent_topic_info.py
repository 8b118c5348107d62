"""GET_PARENT_TOPIC_INFO (200075): return how many lite topics a parent has, and its groups.

Refused: an unknown topic, one that is not for lite topics.

Source: broker/processor/LiteManagerProcessor.java#getParentTopicInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.tools import parent_info
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.lite import GetParentTopicInfoRequestHeader


@handles(table.GET_PARENT_TOPIC_INFO)
def get_parent_topic_info(
    broker: Broker5, request: Request[GetParentTopicInfoRequestHeader]
) -> Steps[Reply[NoHeader]]:
    return (yield from parent_info(broker, request.header.topic))
