"""GET_BROKER_HA_STATUS (907): return how far slaves are, or a slave's way to its master.

Differs: the bytes of the last second are always 0; Java counts the headers of transfers.

Source: broker/processor/AdminBrokerProcessor.java#getBrokerHaStatus (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.ha.v5.service import HAService5
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table


@handles(table.GET_BROKER_HA_STATUS)
def get_broker_ha_status(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    replication = broker.replication()
    assert isinstance(replication, HAService5)
    return Reply(body=replication.runtime_info().encode())
