"""WIPE_WRITE_PERM_OF_BROKER (205): take the write bit off every topic of a broker name.

Behaviour: answers how many topics the name has; 0 for an unknown name. Holds until the broker
registers again with another data version.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#wipeWritePermOfBroker (4.9.7)
"""

from __future__ import annotations

from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.headers.namesrv import (
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)


@handles(table.WIPE_WRITE_PERM_OF_BROKER)
def wipe_write_perm_of_broker(
    node: NameServer, request: Request[WipeWritePermOfBrokerRequestHeader]
) -> Steps[Reply[WipeWritePermOfBrokerResponseHeader]]:
    count = yield from node.registration.wipe_write_perm(or_null(request.header, "broker_name"))
    return Reply(WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count))
