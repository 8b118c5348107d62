"""PEEK_MESSAGE: return what a pop would find, and leave it where it is.

Source: broker/processor/PeekMessageProcessor.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.broker.sending.checks import consuming_group
from fakemq.broker.v5.pop.checks import (
    check_queues,
    check_readable,
    readable_queue,
)
from fakemq.dispatch.answers import Refused, Reply, Request
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.errors import IllegalArgumentError
from fakemq.protocol.headers.pop import PeekMessageRequestHeader, PopMessageResponseHeader
from fakemq.protocol.pop import pop_retry_topic
from fakemq.store.results import GetMessageStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemq.broker.v5.broker import Broker5
    from fakemq.protocol.bodies.topic import TopicConfig

_Request: TypeAlias = Request[PeekMessageRequestHeader]
_Reply: TypeAlias = Reply[PopMessageResponseHeader]

RETRY_EACH: Final = 5
"""One peek in five looks into the retry topic first."""
_CORRECTED: Final = (GetMessageStatus.OFFSET_TOO_SMALL, GetMessageStatus.OFFSET_OVERFLOW_BADLY)


def peek(broker: Broker5, request: _Request) -> Reply[PopMessageResponseHeader]:
    """Answer with the messages that the group's next pops would get."""
    header = request.header
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    try:
        check_readable(broker, "peeking message")
        config = readable_queue(broker, topic, queue_id, request.session)
        consuming_group(broker, group)
    except Refused as refused:
        return _Reply(PopMessageResponseHeader(), code=refused.code, remark=refused.remark)
    if header.max_msg_nums < 0:  # Java makes a list with it as its capacity
        raise IllegalArgumentError(f"Illegal Capacity: {header.max_msg_nums}")
    service = broker.pop
    number = broker.randomness.randrange(100)
    retry = broker.topics.select(
        pop_retry_topic(topic, group, v2=service.config.enable_retry_topic_v2)
    )
    check_queues(retry)
    if queue_id < 0:
        check_queues(config)
    queues = [(topic, queue_id)] if queue_id >= 0 else list(_queues(config, number))
    retried = list(_queues(retry, number))
    retry_first = number % RETRY_EACH == 0
    found = _Found(broker, header)
    for queue in [*retried, *queues] if retry_first else queues:
        found.look(*queue)
    if not retry_first and found.count < header.max_msg_nums:
        for queue in retried:
            found.look(*queue)
    answer = PopMessageResponseHeader(rest_num=found.rest_num)
    if not found.count:
        remark = GetMessageStatus.NO_MESSAGE_IN_QUEUE.name
        return _Reply(answer, code=ResponseCode.PULL_NOT_FOUND, remark=remark)
    return _Reply(answer, body=found.buffers, remark=GetMessageStatus.FOUND.name)


def _queues(config: TopicConfig | None, first: int) -> Iterator[tuple[str, int]]:
    """Yield topic and queue id of all queues of a topic, in turn, beginning with a number."""
    if config is not None:
        queues = config.read_queue_nums
        for number in range(queues):
            yield config.topic_name or "", (first + number) % queues


class _Found:
    """What a peek has found so far."""

    def __init__(self, broker: Broker5, header: PeekMessageRequestHeader) -> None:
        self._broker = broker
        self._header = header
        self.rest_num = self.count = 0
        self.buffers: list[memoryview] = []

    def look(self, topic: str, queue_id: int) -> None:
        """Take what is still wanted from one queue; its offset stays."""
        store, group = self._broker.store, self._header.consumer_group
        offset = self._broker.pop.offsets.next_offset(topic, group, queue_id)
        self.rest_num += store.max_offset_in_queue(topic, queue_id) - offset
        wanted = self._header.max_msg_nums - self.count
        if wanted <= 0:
            return
        result = store.get_message(group, topic, queue_id, offset, wanted)
        if result.status in _CORRECTED:
            offset = result.next_begin_offset
            result = store.get_message(group, topic, queue_id, offset, wanted)
        self.count += result.message_count
        self.buffers += result.buffers
