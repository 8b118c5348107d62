"""Brokers of one name, as only 5.5.0 returns them."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Long


class BrokerMemberGroup(Body):
    """Source: remoting/protocol/body/BrokerMemberGroup.java (5.5.0)"""

    cluster: str | None = None
    broker_name: str | None = None
    broker_addrs: dict[Long, str] = field(default_factory=dict)


class GetBrokerMemberGroupResponseBody(Body):
    """Source: remoting/protocol/body/GetBrokerMemberGroupResponseBody.java (5.5.0)"""

    broker_member_group: BrokerMemberGroup | None = None
