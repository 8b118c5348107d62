"""VIEW_BROKER_STATS_DATA (315): return what a counter gained in the last minute, hour and day.

Refused: a counter that has counted nothing yet: SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#ViewBrokerStatsData (4.9.7)
"""

from __future__ import annotations

from fakemq.broker.broker import Broker, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol import table
from fakemq.protocol.bodies.stats import BrokerStatsData, BrokerStatsItem
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.headers.admin import ViewBrokerStatsDataRequestHeader
from fakemq.protocol.table import NoHeader


@handles(table.VIEW_BROKER_STATS_DATA)
def view_broker_stats_data(
    broker: Broker, request: Request[ViewBrokerStatsDataRequestHeader]
) -> Reply[NoHeader]:
    header = request.header
    name, key = header.get("stats_name", "null"), header.get("stats_key", "null")
    snapshots = broker.stats.snapshots(name, key)
    if snapshots is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, f"The stats <{name}> <{key}> not exist")
    minute, hour, day = (BrokerStatsItem(*snapshot) for snapshot in snapshots)
    body = BrokerStatsData(stats_minute=minute, stats_hour=hour, stats_day=day)
    return Reply(body=body.encode())
