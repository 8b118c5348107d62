"""Topics of a broker, in requests that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.header import Header


class GetTopicConfigRequestHeader(Header):
    """Source: remoting/protocol/header/GetTopicConfigRequestHeader.java (5.5.0)"""

    topic: str
    lo: bool | None = None
