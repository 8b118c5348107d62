"""AUTH_DELETE_USER (3003): delete a user and its rights.

Behaviour: a user that is not there is deleted with success.
Refused: a blank name; a super user, but by one.

Source: broker/processor/AdminBrokerProcessor.java#deleteUser (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.auth.administration import ONLY_SUPER, changed, is_super, users_of
from fakemq.broker.v5.auth.errors import AuthError
from fakemq.broker.v5.auth.model import SUPER
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.long_work import in_slices
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import UserRequestHeader


@handles(table.AUTH_DELETE_USER)
@in_slices
def auth_delete_user(
    broker: Broker5, request: Request[UserRequestHeader]
) -> Steps[Reply[NoHeader]]:
    users = users_of(broker)

    def delete() -> None:
        user = users.user(request.header.username)
        if user is None:
            return
        if user.user_type == SUPER and not is_super(users, request):
            raise AuthError(ONLY_SUPER)
        users.delete_user(user.username or "")

    return (yield from changed(users, delete))
