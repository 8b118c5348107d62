"""AUTH_GET_USER (3004): return a user, with its password.

Behaviour: no body for a user that is not there.
Refused: a blank name.

Source: broker/processor/AdminBrokerProcessor.java#getUser (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.auth.administration import answered, named, users_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.dispatch.answers import Reply, Request
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import UserRequestHeader


@handles(table.AUTH_GET_USER)
def auth_get_user(broker: Broker5, request: Request[UserRequestHeader]) -> Reply[NoHeader]:
    users = users_of(broker)
    name = named(request, blank=True)

    def get() -> bytes | None:
        user = users.user(name)
        return None if user is None else user.encode()

    return answered(get)
