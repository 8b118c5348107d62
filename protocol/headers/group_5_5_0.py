"""Groups of a broker, in requests that only 5.5.0 has."""

from __future__ import annotations

from fakemq.protocol.header import Header


class GetSubscriptionGroupConfigRequestHeader(Header):
    """Source: remoting/protocol/header/GetSubscriptionGroupConfigRequestHeader.java (5.5.0)"""

    group: str


class DeleteSubscriptionGroupRequestHeader5(Header):
    """Source: remoting/protocol/header/DeleteSubscriptionGroupRequestHeader.java (5.5.0)"""

    group_name: str
    clean_offset: bool = False


class GetConsumeStatsRequestHeader5(Header):
    """Source: remoting/protocol/header/GetConsumeStatsRequestHeader.java (5.5.0)"""

    consumer_group: str
    topic: str | None = None
    topic_list: str | None = None


class QueryTopicsByConsumerRequestHeader(Header):
    """Source: remoting/protocol/header/QueryTopicsByConsumerRequestHeader.java (5.5.0)"""

    group: str


class QuerySubscriptionByConsumerRequestHeader(Header):
    """Source: remoting/protocol/header/QuerySubscriptionByConsumerRequestHeader.java (5.5.0)"""

    group: str
    topic: str | None = None


class UpdateGroupForbiddenRequestHeader(Header):
    """Source: remoting/protocol/header/UpdateGroupForbiddenRequestHeader.java (5.5.0)"""

    group: str
    topic: str
    readable: bool | None = None
