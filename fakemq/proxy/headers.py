"""The headers by which the front asks brokers most often, as quick values.

Each has the fields of the `Header` of the same name, which a handler finds in a request.
"""

from __future__ import annotations

from fakemq.protocol.usual_headers import UsualHeader


class PopHeader(UsualHeader, gc=False):
    """`fakemq.protocol.headers.pop.PopMessageRequestHeader`"""

    consumer_group: str
    topic: str
    queue_id: int
    max_msg_nums: int
    invisible_time: int
    poll_time: int
    init_mode: int
    exp_type: str
    exp: str
    order: bool
    attempt_id: str | None
    born_time: int = 0


class AckHeader(UsualHeader, gc=False):
    """`fakemq.protocol.headers.pop.AckMessageRequestHeader`"""

    consumer_group: str
    topic: str
    queue_id: int
    extra_info: str
    offset: int
    lite_topic: str | None = None


class ChangeHeader(UsualHeader, gc=False):
    """`fakemq.protocol.headers.pop.ChangeInvisibleTimeRequestHeader`"""

    consumer_group: str
    topic: str
    queue_id: int
    extra_info: str
    offset: int
    invisible_time: int
    suspend: bool
    lite_topic: str | None = None
