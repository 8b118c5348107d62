"""The connections of a broker, as admin tools request them."""

from __future__ import annotations

from msgspec import field

from fakemq.protocol.bodies.body import Body, Int, Long
from fakemq.protocol.bodies.heartbeat import SubscriptionData


class ClientConnection(Body):
    """One client. Source: common/protocol/body/Connection.java (4.9.7)"""

    client_id: str | None = None
    client_addr: str | None = None
    language: str | None = None
    version: Int = 0


class ConsumerConnection(Body):
    """Source: common/protocol/body/ConsumerConnection.java (4.9.7)"""

    connection_set: list[ClientConnection] = field(default_factory=list)
    subscription_table: dict[str, SubscriptionData] = field(default_factory=dict)
    consume_type: str | None = None
    message_model: str | None = None
    consume_from_where: str | None = None


class ProducerConnection(Body):
    """Source: common/protocol/body/ProducerConnection.java (4.9.7)"""

    connection_set: list[ClientConnection] = field(default_factory=list)


class ProducerInfo(Body):
    """One producer. Source: common/protocol/body/ProducerInfo.java (4.9.7)"""

    client_id: str | None = None
    remote_ip: str | None = field(default=None, name="remoteIP")
    language: str | None = None
    version: Int = 0
    last_update_timestamp: Long = 0


class ProducerTableInfo(Body):
    """Source: common/protocol/body/ProducerTableInfo.java (4.9.7)"""

    data: dict[str, list[ProducerInfo]] = field(default_factory=dict)
