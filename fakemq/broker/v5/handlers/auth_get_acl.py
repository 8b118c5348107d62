"""AUTH_GET_ACL (3009): return the rights of a subject.

Behaviour: no body for a user without rights.
Refused: a subject that is no user.

Source: broker/processor/AdminBrokerProcessor.java#getAcl (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.auth.administration import answered, subject_of, users_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import AclRequestHeader


@handles(table.AUTH_GET_ACL)
def auth_get_acl(broker: Broker5, request: Request[AclRequestHeader]) -> Reply[NoHeader]:
    users = users_of(broker)
    subject = subject_of(request.header.subject)

    def get() -> bytes | None:
        acl = users.acl(subject)
        return None if acl is None else acl.info().encode()

    return answered(get)
