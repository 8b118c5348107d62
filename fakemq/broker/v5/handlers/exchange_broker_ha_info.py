"""EXCHANGE_BROKER_HA_INFO (906): where slaves connect, and where the master's log began to grow.

Behaviour: with an address it comes from a master: a slave follows it, a master does not. Without
one a slave asks: a master answers with its own, a slave with nothing.

Source: broker/processor/AdminBrokerProcessor.java#updateBrokerHaInfo (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.role import MASTER_ID
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.acting import (
    ExchangeHAInfoRequestHeader,
    ExchangeHAInfoResponseHeader,
)


@handles(table.EXCHANGE_BROKER_HA_INFO)
def exchange_broker_ha_info(
    broker: Broker5, request: Request[ExchangeHAInfoRequestHeader]
) -> Reply[ExchangeHAInfoResponseHeader]:
    header = request.header
    if header.master_ha_address is not None:
        broker.counting.learn_master(header.master_ha_address, header.master_flush_offset)
    elif broker.config.broker_id == MASTER_ID:
        return Reply(
            ExchangeHAInfoResponseHeader(
                master_ha_address=broker.ha_addr,
                master_flush_offset=broker.init_max_offset,
                master_address=broker.addr,
            )
        )
    return Reply(ExchangeHAInfoResponseHeader())
