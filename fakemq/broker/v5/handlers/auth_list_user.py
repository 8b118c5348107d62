"""AUTH_LIST_USER (3005): return the users whose names contain a text, with their passwords.

Behaviour: without a text all; no body where there are none.

Source: broker/processor/AdminBrokerProcessor.java#listUser (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.auth.administration import answered, listed, users_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import ListUsersRequestHeader


@handles(table.AUTH_LIST_USER)
def auth_list_user(broker: Broker5, request: Request[ListUsersRequestHeader]) -> Reply[NoHeader]:
    users = users_of(broker)
    return answered(lambda: listed(users.all_users(request.header.filter)))
