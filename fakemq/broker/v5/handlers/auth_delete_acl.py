"""AUTH_DELETE_ACL (3008): take the right to a resource from a subject.

Behaviour: without a resource, or with a text that is none, all its rights.
Refused: a subject that is no user, or has no rights.

Source: broker/processor/AdminBrokerProcessor.java#deleteAcl (5.5.0)
"""

from __future__ import annotations

from functools import partial

from fakemq.broker.v5.auth.administration import changed, subject_of, users_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.long_work import in_slices
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import DeleteAclRequestHeader


@handles(table.AUTH_DELETE_ACL)
@in_slices
def auth_delete_acl(
    broker: Broker5, request: Request[DeleteAclRequestHeader]
) -> Steps[Reply[NoHeader]]:
    users, header = users_of(broker), request.header
    subject = subject_of(header.subject)
    take = partial(users.take, subject, header.policy_type, header.resource)
    return (yield from changed(users, take))
