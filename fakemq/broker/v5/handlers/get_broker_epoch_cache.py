"""GET_BROKER_EPOCH_CACHE (1007): return the epochs of the broker's log.

Behaviour: a broker without a role has the id of a master, as its file says.
Refused: by a broker without a controller: SYSTEM_ERROR.

Source: broker/processor/AdminBrokerProcessor.java#getBrokerEpochCache (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.ha import EpochEntryCache, EpochOfLog


@handles(table.GET_BROKER_EPOCH_CACHE)
def get_broker_epoch_cache(broker: Broker5, request: Request[NoHeader]) -> Reply[NoHeader]:
    if broker.replicas is None:
        raise Refused(ResponseCode.SYSTEM_ERROR, "this request only for controllerMode ")
    config = broker.config
    body = EpochEntryCache(
        cluster_name=config.broker_cluster_name,
        broker_name=config.broker_name,
        broker_id=config.broker_id,
        epoch_list=[
            EpochOfLog(epoch=epoch, start_offset=start_offset, end_offset=end_offset)
            for epoch, start_offset, end_offset in broker.switching.epochs.entries
        ],
        max_offset=broker.store.max_phy_offset,
    )
    return Reply(body=body.encode())
