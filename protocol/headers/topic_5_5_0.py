"""Topics of a broker, in requests that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.header import Header
from fakemq.protocol.headers.topic import CreateTopicRequestHeader


class GetTopicConfigRequestHeader(Header):
    """Source: remoting/protocol/header/GetTopicConfigRequestHeader.java (5.5.0)"""

    topic: str
    lo: bool | None = None


class CreateTopicRequestHeader5(CreateTopicRequestHeader):
    """Source: remoting/protocol/header/CreateTopicRequestHeader.java (5.5.0)"""

    attributes: str | None = None
