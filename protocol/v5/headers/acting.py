"""Slaves that act as masters, in requests between brokers and from name servers to them."""

from __future__ import annotations

from fakemq.protocol.header import Header, Long


class NotifyMinBrokerIdChangeRequestHeader(Header):
    """Source: remoting/protocol/header/NotifyMinBrokerIdChangeRequestHeader.java (5.5.0)"""

    min_broker_id: Long | None = None
    broker_name: str | None = None
    min_broker_addr: str | None = None
    offline_broker_addr: str | None = None
    ha_broker_addr: str | None = None


class ExchangeHAInfoRequestHeader(Header):
    """Source: remoting/protocol/header/ExchangeHAInfoRequestHeader.java (5.5.0)"""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


class ExchangeHAInfoResponseHeader(Header):
    """Source: remoting/protocol/header/ExchangeHAInfoResponseHeader.java (5.5.0)"""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


class ResetMasterFlushOffsetHeader(Header):
    """Source: remoting/protocol/header/ResetMasterFlushOffsetHeader.java (5.5.0)"""

    master_flush_offset: Long | None = None
