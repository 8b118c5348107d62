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


class GetAllSubscriptionGroupRequestHeader(Header):
    """Which page of the groups; a client of 4.9.7 says nothing, and gets all.

    Source: remoting/protocol/header/GetAllSubscriptionGroupRequestHeader.java (5.5.0)
    """

    group_seq: int | None = None
    data_version: str | None = None
    max_group_num: int | None = None


class GetAllSubscriptionGroupResponseHeader(Header):
    """Source: remoting/protocol/header/GetAllSubscriptionGroupResponseHeader.java (5.5.0)"""

    total_group_num: int | None = None
