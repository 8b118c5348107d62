"""AUTH_UPDATE_USER (3002): change the password, the type or the state of a user.

Behaviour: what the body does not name stays.
Refused: a name that is blank or no user's; a change of or to a super user, but by one.

Source: broker/processor/AdminBrokerProcessor.java#updateUser (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.auth.administration import (
    ONLY_SUPER,
    changed,
    is_super,
    named,
    require_super,
    sent_user,
    users_of,
)
from fakemq.broker.v5.auth.errors import AuthError
from fakemq.broker.v5.auth.model import SUPER, TYPES, word_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.long_work import in_slices
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import UserRequestHeader


@handles(table.AUTH_UPDATE_USER)
@in_slices
def auth_update_user(
    broker: Broker5, request: Request[UserRequestHeader]
) -> Steps[Reply[NoHeader]]:
    users = users_of(broker)
    user = sent_user(request, named(request), "updateUser", 3129)
    if word_of(TYPES, user.user_type) == SUPER:
        require_super(users, request, ONLY_SUPER)

    def update() -> None:
        old = users.user(user.username)
        if old is not None and old.user_type == SUPER and not is_super(users, request):
            raise AuthError(ONLY_SUPER)
        users.update_user(user)

    return (yield from changed(users, update))
