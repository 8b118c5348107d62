"""RESET_MASTER_FLUSH_OFFSET (908): what a slave is to know of the end of its master's log.

Behaviour: only its HA status (907) says it. A master, and a request without an offset, change
nothing.

Source: broker/processor/AdminBrokerProcessor.java#resetMasterFlushOffset (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.role import MASTER_ID
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.acting import ResetMasterFlushOffsetHeader


@handles(table.RESET_MASTER_FLUSH_OFFSET)
def reset_master_flush_offset(
    broker: Broker5, request: Request[ResetMasterFlushOffsetHeader]
) -> Reply[NoHeader]:
    offset = request.header.master_flush_offset
    if broker.config.broker_id != MASTER_ID and offset is not None:
        broker.counting.master_flushed_offset = offset
    return Reply()
