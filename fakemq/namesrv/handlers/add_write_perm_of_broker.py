"""ADD_WRITE_PERM_OF_BROKER (327): make every topic of a broker name readable and writable.

Behaviour: answers how many topics the name has; 0 for an unknown name. The permission becomes 6
whatever it was, so TBW102 loses its INHERIT bit.
Ignored: the body.

Source: namesrv/processor/DefaultRequestProcessor.java#addWritePermOfBroker (4.9.7)
"""

from __future__ import annotations

from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.namesrv.handlers import or_null
from fakemq.namesrv.namesrv import NameServer, handles
from fakemq.protocol import table
from fakemq.protocol.headers.namesrv import (
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
)


@handles(table.ADD_WRITE_PERM_OF_BROKER)
def add_write_perm_of_broker(
    node: NameServer, request: Request[AddWritePermOfBrokerRequestHeader]
) -> Steps[Reply[AddWritePermOfBrokerResponseHeader]]:
    count = yield from node.registration.add_write_perm(or_null(request.header, "broker_name"))
    return Reply(AddWritePermOfBrokerResponseHeader(add_topic_count=count))
