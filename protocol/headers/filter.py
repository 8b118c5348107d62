"""Filter servers, which 4.9.7 names but does not handle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from fakemq.protocol.header import Header, Long


class RegisterFilterServerRequestHeader(Header):
    """Source: common/protocol/header/filtersrv/RegisterFilterServerRequestHeader.java (4.9.7)"""

    filter_server_addr: str


class RegisterFilterServerResponseHeader(Header):
    """Source: common/protocol/header/filtersrv/RegisterFilterServerResponseHeader.java (4.9.7)"""

    broker_name: str
    broker_id: Long = 0


class RegisterMessageFilterClassRequestHeader(Header):
    """A filter class on its way to the filter servers.

    Source: common/protocol/header/filtersrv/RegisterMessageFilterClassRequestHeader.java (4.9.7)
    """

    wire_names: ClassVar[Mapping[str, str]] = {
        "class_crc": "classCRC",
    }

    consumer_group: str
    topic: str
    class_name: str
    class_crc: int
