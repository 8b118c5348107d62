"""Headers about clients: their connections, and the requests of a broker to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakemq.protocol.header import Header


class UnregisterClientRequestHeader(Header):
    """Source: common/protocol/header/UnregisterClientRequestHeader.java (4.9.7)"""

    wire_names: ClassVar[Mapping[str, str]] = {
        "client_id": "clientID",
    }

    client_id: str
    producer_group: str | None = None
    consumer_group: str | None = None


class UnregisterClientResponseHeader(Header):
    """Source: common/protocol/header/UnregisterClientResponseHeader.java (4.9.7)"""


class GetConsumerListByGroupRequestHeader(Header):
    """Source: common/protocol/header/GetConsumerListByGroupRequestHeader.java (4.9.7)"""

    consumer_group: str


class GetConsumerListByGroupResponseHeader(Header):
    """Source: common/protocol/header/GetConsumerListByGroupResponseHeader.java (4.9.7)"""


class NotifyConsumerIdsChangedRequestHeader(Header):
    """Source: common/protocol/header/NotifyConsumerIdsChangedRequestHeader.java (4.9.7)"""

    consumer_group: str


class GetConsumerConnectionListRequestHeader(Header):
    """Source: common/protocol/header/GetConsumerConnectionListRequestHeader.java (4.9.7)"""

    consumer_group: str


class GetProducerConnectionListRequestHeader(Header):
    """Source: common/protocol/header/GetProducerConnectionListRequestHeader.java (4.9.7)"""

    producer_group: str


class GetAllProducerInfoRequestHeader(Header):
    """Source: common/protocol/header/GetAllProducerInfoRequestHeader.java (4.9.7)"""


class GetConsumerRunningInfoRequestHeader(Header):
    """Source: common/protocol/header/GetConsumerRunningInfoRequestHeader.java (4.9.7)"""

    consumer_group: str
    client_id: str
    jstack_enable: bool = False


class GetConsumerStatusRequestHeader(Header):
    """Source: common/protocol/header/GetConsumerStatusRequestHeader.java (4.9.7)"""

    topic: str
    group: str
    client_addr: str | None = None


class ConsumeMessageDirectlyResultRequestHeader(Header):
    """Source: common/protocol/header/ConsumeMessageDirectlyResultRequestHeader.java (4.9.7)"""

    consumer_group: str
    client_id: str | None = None
    msg_id: str | None = None
    broker_name: str | None = None
