"""AUTH_UPDATE_ACL (3007): give a subject rights.

Behaviour: they are added to those that it has; of one resource the last ones count. Codes 3006 and
3007 do the same.
Refused: a subject that is no user, and what is no right.

Source: broker/processor/AdminBrokerProcessor.java#updateAcl (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.auth.administration import granted
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.long_work import in_slices
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import AclRequestHeader


@handles(table.AUTH_UPDATE_ACL)
@in_slices
def auth_update_acl(broker: Broker5, request: Request[AclRequestHeader]) -> Steps[Reply[NoHeader]]:
    return (yield from granted(broker, request, "updateAcl", 3268))
