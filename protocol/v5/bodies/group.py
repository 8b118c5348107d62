"""What 5.5.0 says of the subscriptions of groups."""

from __future__ import annotations

from fakemq.protocol.bodies.body import Body
from fakemq.protocol.bodies.heartbeat import SubscriptionData


class QuerySubscriptionResponseBody(Body):
    """Source: remoting/protocol/body/QuerySubscriptionResponseBody.java (5.5.0)"""

    subscription_data: SubscriptionData | None = None
    group: str | None = None
    topic: str | None = None


class GroupForbidden(Body):
    """Source: remoting/protocol/subscription/GroupForbidden.java (5.5.0)"""

    topic: str | None = None
    group: str | None = None
    readable: bool | None = None
