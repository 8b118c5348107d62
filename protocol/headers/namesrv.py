"""Routes and brokers at the name server."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long


class RegisterBrokerRequestHeader(Header):
    """Source: common/protocol/header/namesrv/RegisterBrokerRequestHeader.java (4.9.7)"""

    broker_name: str
    broker_addr: str
    cluster_name: str
    ha_server_addr: str
    broker_id: Long
    compressed: bool = False
    body_crc32: int = 0


class RegisterBrokerResponseHeader(Header):
    """Source: common/protocol/header/namesrv/RegisterBrokerResponseHeader.java (4.9.7)"""

    ha_server_addr: str | None = None
    master_addr: str | None = None


class UnRegisterBrokerRequestHeader(Header):
    """Source: common/protocol/header/namesrv/UnRegisterBrokerRequestHeader.java (4.9.7)"""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


class QueryDataVersionRequestHeader(Header):
    """Source: common/protocol/header/namesrv/QueryDataVersionRequestHeader.java (4.9.7)"""

    broker_name: str
    broker_addr: str
    cluster_name: str
    broker_id: Long


class QueryDataVersionResponseHeader(Header):
    """Source: common/protocol/header/namesrv/QueryDataVersionResponseHeader.java (4.9.7)"""

    changed: bool


class GetRouteInfoRequestHeader(Header):
    """Source: common/protocol/header/namesrv/GetRouteInfoRequestHeader.java (4.9.7)"""

    topic: str
    accept_standard_json_only: bool | None = None


class WipeWritePermOfBrokerRequestHeader(Header):
    """Source: common/protocol/header/namesrv/WipeWritePermOfBrokerRequestHeader.java (4.9.7)"""

    broker_name: str


class WipeWritePermOfBrokerResponseHeader(Header):
    """Source: common/protocol/header/namesrv/WipeWritePermOfBrokerResponseHeader.java (4.9.7)"""

    wipe_topic_count: int


class AddWritePermOfBrokerRequestHeader(Header):
    """Source: common/protocol/header/namesrv/AddWritePermOfBrokerRequestHeader.java (4.9.7)"""

    broker_name: str


class AddWritePermOfBrokerResponseHeader(Header):
    """Source: common/protocol/header/namesrv/AddWritePermOfBrokerResponseHeader.java (4.9.7)"""

    add_topic_count: int


class DeleteTopicFromNamesrvRequestHeader(Header):
    """Source: common/protocol/header/namesrv/DeleteTopicFromNamesrvRequestHeader.java (4.9.7)"""

    topic: str
    cluster_name: str | None = None


class RegisterOrderTopicRequestHeader(Header):
    """Source: common/protocol/header/namesrv/RegisterOrderTopicRequestHeader.java (4.9.7)"""

    topic: str
    order_topic_string: str
