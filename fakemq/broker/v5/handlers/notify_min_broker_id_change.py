"""NOTIFY_MIN_BROKER_ID_CHANGE (905): a name server says which id is the lowest of the group now.

Behaviour: SUCCESS also where it changes nothing: at a master, without enableSlaveActingMaster, and
if it is no news. The name server wants no answer.
Differs: the broker asks a name server then (901); Java believes the fields, from any peer.

Source: broker/processor/AdminBrokerProcessor.java#notifyMinBrokerIdChange (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import required
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.acting import NotifyMinBrokerIdChangeRequestHeader


@handles(table.NOTIFY_MIN_BROKER_ID_CHANGE)
def notify_min_broker_id_change(
    broker: Broker5, request: Request[NotifyMinBrokerIdChangeRequestHeader]
) -> Reply[NoHeader]:
    header = request.header
    lowest = required(header.min_broker_id, "NotifyMinBrokerIdChangeRequestHeader", "minBrokerId")
    acting = broker.acting
    if acting is not None and not acting.is_master and lowest != acting.min_broker_id:
        acting.look()
    return Reply()
