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


class GetAllTopicConfigRequestHeader(Header):
    """Which page of the topics; a client of 4.9.7 says nothing, and gets all.

    Source: remoting/protocol/header/GetAllTopicConfigRequestHeader.java (5.5.0)
    """

    topic_seq: int | None = None
    data_version: str | None = None
    max_topic_num: int | None = None


class GetAllTopicConfigResponseHeader5(Header):
    """Source: remoting/protocol/header/GetAllTopicConfigResponseHeader.java (5.5.0)"""

    total_topic_num: int | None = None
