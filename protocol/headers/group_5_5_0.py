"""Groups of a broker, in requests that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.header import Header


class GetSubscriptionGroupConfigRequestHeader(Header):
    """Source: remoting/protocol/header/GetSubscriptionGroupConfigRequestHeader.java (5.5.0)"""

    group: str
