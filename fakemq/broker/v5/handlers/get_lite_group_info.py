"""GET_LITE_GROUP_INFO (200078): return how far a group is behind in its lite topics.

Refused: an unknown group, a usual one.

Source: broker/processor/LiteManagerProcessor.java#getLiteGroupInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.broker.v5.lite.tools import group_info
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.lite import GetLiteGroupInfoRequestHeader


@handles(table.GET_LITE_GROUP_INFO)
def get_lite_group_info(
    broker: Broker5, request: Request[GetLiteGroupInfoRequestHeader]
) -> Steps[Reply[NoHeader]]:
    return (yield from group_info(broker, request.header))
