"""AUTH_LIST_ACL (3010): return the rights of subjects, and to resources, that contain texts.

Behaviour: without texts all; no body where there are none.

Source: broker/processor/AdminBrokerProcessor.java#listAcl (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.auth.administration import answered, listed, users_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import ListAclsRequestHeader


@handles(table.AUTH_LIST_ACL)
def auth_list_acl(broker: Broker5, request: Request[ListAclsRequestHeader]) -> Reply[NoHeader]:
    users, header = users_of(broker), request.header
    return answered(lambda: listed(users.all_acls(header.subject_filter, header.resource_filter)))
