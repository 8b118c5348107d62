"""NOTIFY_BROKER_ROLE_CHANGED (1008): the controller says which broker is the master now.

Behaviour: only an epoch above the broker's own changes anything. A broker without a controller, or
one that has no id yet, answers SUCCESS, too. The controller wants no answer.

Source: broker/processor/AdminBrokerProcessor.java#notifyBrokerRoleChanged (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.outcomes import readable_json
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.bodies.controller import SyncStateSet
from fakemq.protocol.v5.headers.controller import NotifyBrokerRoleChangedRequestHeader


@handles(table.NOTIFY_BROKER_ROLE_CHANGED)
def notify_broker_role_changed(
    broker: Broker5, request: Request[NotifyBrokerRoleChangedRequestHeader]
) -> Reply[NoHeader]:
    body = SyncStateSet.decode(readable_json(request.body))
    if broker.replicas is not None:
        header = request.header
        broker.replicas.change_broker_role(
            master_id=header.master_broker_id,
            master_addr=header.master_address,
            master_epoch=header.master_epoch or 0,
            set_epoch=header.sync_state_set_epoch or 0,
            members=body.sync_state_set or (),
        )
    return Reply()
