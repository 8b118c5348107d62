"""GET_LITE_TOPIC_INFO (200076): return offsets and subscribers of a lite topic.

Refused: an unknown parent, one that is not for lite topics.

Source: broker/processor/LiteManagerProcessor.java#getLiteTopicInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.tools import lite_topic_info
from fakemq.dispatch.answers import Parked, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.lite import GetLiteTopicInfoRequestHeader


@handles(table.GET_LITE_TOPIC_INFO)
def get_lite_topic_info(
    broker: Broker5, request: Request[GetLiteTopicInfoRequestHeader]
) -> Parked[NoHeader]:
    return lite_topic_info(broker, request.header)
