"""Brokers at the name server, in requests that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long


class BrokerHeartbeatRequestHeader(Header):
    """Source: remoting/protocol/header/namesrv/BrokerHeartbeatRequestHeader.java (5.5.0)"""

    cluster_name: str
    broker_addr: str
    broker_name: str
    broker_id: Long | None = None
    epoch: int | None = None
    max_offset: Long | None = None
    confirm_offset: Long | None = None
    heartbeat_timeout_mills: Long | None = None
    election_priority: int | None = None


class RegisterTopicRequestHeader(Header):
    """Source: remoting/protocol/header/namesrv/RegisterTopicRequestHeader.java (5.5.0)"""

    topic: str


class GetBrokerMemberGroupRequestHeader(Header):
    """Source: remoting/protocol/header/GetBrokerMemberGroupRequestHeader.java (5.5.0)"""

    cluster_name: str
    broker_name: str
