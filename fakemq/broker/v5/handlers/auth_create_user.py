"""AUTH_CREATE_USER (3001): add a user.

Behaviour: the name is that of the header, whatever the body says.
Refused: a name or password that is blank, a user that is there; a super user, but by one.

Source: broker/processor/AdminBrokerProcessor.java#createUser (5.5.0)
"""

from __future__ import annotations

from fakemq.broker.v5.auth.administration import changed, named, require_super, sent_user, users_of
from fakemq.broker.v5.auth.model import SUPER, TYPES, word_of
from fakemq.broker.v5.broker import Broker5, handles
from fakemq.clock.slices import Steps
from fakemq.dispatch.answers import Reply, Request
from fakemq.dispatch.long_work import in_slices
from fakemq.protocol.table import NoHeader
from fakemq.protocol.v5 import table
from fakemq.protocol.v5.headers.auth import UserRequestHeader

_ONLY_SUPER_CREATES = "The super user can only be create by super user"


@handles(table.AUTH_CREATE_USER)
@in_slices
def auth_create_user(
    broker: Broker5, request: Request[UserRequestHeader]
) -> Steps[Reply[NoHeader]]:
    users = users_of(broker)
    user = sent_user(request, named(request), "createUser", 3097)
    if word_of(TYPES, user.user_type) == SUPER:
        require_super(users, request, _ONLY_SUPER_CREATES)
    return (yield from changed(users, lambda: users.create_user(user)))
