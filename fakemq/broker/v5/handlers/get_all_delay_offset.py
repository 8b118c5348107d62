"""GET_ALL_DELAY_OFFSET (45): return the progress of every delay level; slaves send it.

Behaviour: as in 4.9.7, with a data version, and with levels that wait for their first message.

Source: broker/processor/AdminBrokerProcessor.java#getAllDelayOffset,
broker/schedule/ScheduleMessageService.java#encode (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol import table
from fakemq.protocol.java import java_concurrent_map_order
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5.bodies.tables import DelayOffsetSerializeWrapper5

_TABLE_CAPACITY = 32


@handles(table.GET_ALL_DELAY_OFFSET)
def get_all_delay_offset(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    offsets = broker.delay.waiting_offsets() | broker.delay.offsets
    body = DelayOffsetSerializeWrapper5(
        offset_table={
            level: offsets[level] for level in java_concurrent_map_order(offsets, _TABLE_CAPACITY)
        },
        data_version=broker.versions.delays,
    )
    return Reply(body=body.encode())
