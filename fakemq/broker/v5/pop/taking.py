"""What one pop takes: messages of some queues, and the texts that name them in the answer.

Source: broker/processor/PopMessageProcessor.java#popMsgFromQueue (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.broker.filters.noting import note_filtered
from fakemq.journal.journal import shortened
from fakemq.journal.noted import DELIVERED, POPPED
from fakemq.protocol.bodies.pop import PopCheckPoint
from fakemq.protocol.errors import ProtocolError
from fakemq.protocol.message import readdressed, record_properties
from fakemq.protocol.pop import ORDER_REVIVE_QUEUE, extra_info, msg_offset_info, start_offset_info
from fakemq.protocol.properties import POP_CK
from fakemq.protocol.v5.properties import encode_properties
from fakemq.store.reading import offsets_found
from fakemq.store.results import GetMessageStatus, found_records

if TYPE_CHECKING:
    from fakemq.broker.v5.pop.filters import FilterMaker
    from fakemq.broker.v5.pop.service import PopService
    from fakemq.net.session import Session
    from fakemq.protocol.bodies.topic import TopicConfig
    from fakemq.protocol.headers.pop import PopMessageRequestHeader
    from fakemq.store.results import GetMessageResult

_CORRECTED: Final = (
    GetMessageStatus.OFFSET_TOO_SMALL,
    GetMessageStatus.OFFSET_OVERFLOW_BADLY,
    GetMessageStatus.OFFSET_FOUND_NULL,
)
"""There is nothing at the offset of the group: it continues where the store has messages."""
_PASSED_OVER: Final = (
    GetMessageStatus.NO_MATCHED_MESSAGE,
    GetMessageStatus.OFFSET_FOUND_NULL,
    GetMessageStatus.MESSAGE_WAS_REMOVING,
    GetMessageStatus.NO_MATCHED_LOGIC_QUEUE,
)
"""The pop returns nothing of what it read."""


class Taking:
    """One pop while it collects messages."""

    def __init__(
        self,
        service: PopService,
        header: PopMessageRequestHeader,
        session: Session,
        make_filter: FilterMaker,
        revive_queue_id: int,
    ) -> None:
        self._service = service
        self._header = header
        self._group = header.consumer_group
        self._most = header.max_msg_nums
        self._in_order = header.order
        self._session = session
        self._make_filter = make_filter
        self.revive_queue_id = revive_queue_id
        self.pop_time_ms = service.clock.now_ms()
        self.rest_num = 0
        """How many messages its queues have behind those that it took."""
        self.passed_over = False
        """Whether it went on in a queue without taking anything from there. A slave goes nowhere if
        its queue lacks a file: a pop that woke itself for such a queue would have no end."""
        self.count = 0
        self.buffers: list[memoryview] = []
        self.start_offsets: list[str] = []
        self.msg_offsets: list[str] = []
        self.order_counts: list[str] = []

    @property
    def is_full(self) -> bool:
        return self.count >= self._most

    def take_topic(self, config: TopicConfig | None, first: int) -> None:
        """Take from all queues of a topic, in turn, beginning with a number.

        Source: PopMessageProcessor.java#popMsgFromTopic (5.5.0)
        """
        if config is None:
            return
        queues = config.read_queue_nums
        ascending = self._service.config.priority_order_asc
        for number in range(queues):
            index = queues - 1 - number if ascending else number
            self.take_queue(config.topic_name or "", (index + first) % queues)

    def take_queue(self, topic: str, queue_id: int) -> None:
        """Take what is still wanted from one queue."""
        service, group = self._service, self._group
        store = service.store
        # 1. Too much is out: what waits is only counted, as the answer says how much is left.
        if service.is_too_much_inflight(topic, group, queue_id):
            offset = service.offsets.next_offset(topic, group, queue_id)
            self.rest_num += store.max_offset_in_queue(topic, queue_id) - offset
            return
        # 2. In order a queue has one batch out at a time. A reset by an operator, which ends that
        # batch, has to come before the look at it.
        offset = service.start_of_pop(topic, group, queue_id, self._header.init_mode)
        if self._in_order:
            if service.is_blocked(self._header, topic, queue_id):
                return  # what waits there does not count: an acknowledgement wakes the next pop
            service.inflight.clear(topic, group, queue_id)
        # 3. Queues before this one had enough: what waits here is only counted, too.
        if self.count >= self._most:
            self.rest_num += store.max_offset_in_queue(topic, queue_id) - offset
            return
        # 4. Take what is there, or go past what the filter leaves out and what is deleted.
        result, read_from = self._read(topic, queue_id, offset)
        if result.message_count:
            self._took(topic, queue_id, offset, result)
        elif result.status in _PASSED_OVER and result.next_begin_offset >= 0:
            self.passed_over |= result.next_begin_offset > offset
            self._passed_over(topic, queue_id, result.next_begin_offset)
        self._note_filtered(topic, queue_id, read_from, result)
        self.rest_num += result.max_offset - result.next_begin_offset

    def _read(self, topic: str, queue_id: int, offset: int) -> tuple[GetMessageResult, int]:
        """Return what a queue has, and where it was read."""
        group, store = self._group, self._service.store
        most = self._most - self.count
        result = store.get_message(group, topic, queue_id, offset, most, self._make_filter())
        if result.status in _CORRECTED:
            offset = result.next_begin_offset
            self._service.committed.commit(group, topic, queue_id, offset)
            result = store.get_message(group, topic, queue_id, offset, most, self._make_filter())
        return result, offset

    def _note_filtered(
        self, topic: str, queue_id: int, offset: int, result: GetMessageResult
    ) -> None:
        subscription = self._make_filter.subscription
        if subscription is not None:
            note_filtered(
                self._service.journal,
                self._service.node.name,
                subscription,
                result,
                group=self._group,
                topic=topic,
                queue_id=queue_id,
                queue_offset=offset,
                peer=self._session.remote_addr,
            )

    def _passed_over(self, topic: str, queue_id: int, next_offset: int) -> None:
        group = self._group
        if self._in_order:
            self._service.committed.commit(group, topic, queue_id, next_offset)
        else:
            self._service.offsets.popped(topic, group, queue_id, next_offset, stored=True)

    def _took(self, topic: str, queue_id: int, offset: int, result: GetMessageResult) -> None:
        service, header = self._service, self._header
        group, offsets = self._group, tuple(offsets_found(result, offset))
        if self._in_order:
            self.order_counts += service.in_order(
                header, topic, queue_id, self.pop_time_ms, offsets
            )
            # Where it began: the acknowledgements move the offset on.
            service.committed.commit(group, topic, queue_id, offset)
        else:
            ck = PopCheckPoint(
                num=result.message_count,
                pop_time=self.pop_time_ms,
                invisible_time=header.invisible_time,
                start_offset=offset,
                group=group,
                topic=topic,
                queue_id=queue_id,
                broker_name=service.config.broker_name,
                queue_offset_diff=[one - offset for one in offsets],
            )
            stored = service.log.keep_checkpoint(
                ck, self.revive_queue_id, lambda: service.offsets.stored(topic, group, queue_id)
            )
            service.offsets.popped(topic, group, queue_id, result.next_begin_offset, stored=stored)
        self.count += result.message_count
        self.start_offsets.append(start_offset_info(topic, queue_id, offset))
        self.msg_offsets.append(msg_offset_info(topic, queue_id, offsets))
        if topic == header.topic or service.config.pop_response_return_actual_retry_topic:
            self.buffers += result.buffers
        else:
            self.buffers += self._as_of_original_topic(topic, queue_id, offset, result)
        service.inflight.popped(topic, group, queue_id, result.message_count)
        service.stats.pulled(group, topic, queue_id, result.message_count, result.buffer_total_size)
        self._note(topic, queue_id, offset, result, offsets)

    def _as_of_original_topic(
        self, topic: str, queue_id: int, offset: int, result: GetMessageResult
    ) -> list[memoryview]:
        """Return records of a retry topic as records of the topic that the client knows.

        Their handle is among their properties, because the client could not make it.
        """
        original, records = self._header.topic.encode("utf-8", "replace"), list[memoryview]()
        broker_name, invisible_ms = self._service.config.broker_name, self._header.invisible_time
        for queue_offset, record in found_records(result):
            handle = extra_info(
                start_offset=offset,
                pop_time_ms=self.pop_time_ms,
                invisible_time_ms=invisible_ms,
                revive_queue_id=self.revive_queue_id,
                topic=topic,
                broker_name=broker_name,
                queue_id=queue_id,
                queue_offset=queue_offset,
            )
            try:
                properties = record_properties(record)
                properties.setdefault(POP_CK, handle)
                encoded = encode_properties(properties).encode("utf-8", "replace")
                records.append(memoryview(readdressed(record, original, encoded)))
            except (ProtocolError, ValueError):
                continue  # damaged, or without room for the handle: Java leaves it out, too
        return records

    def _note(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        result: GetMessageResult,
        offsets: tuple[int, ...],
    ) -> None:
        journal, header, node = self._service.journal, self._header, self._service.node.name
        group, peer, topic = shortened(self._group), self._session.remote_addr, shortened(topic)
        next_offset = result.next_begin_offset
        journal.note((DELIVERED, node, topic, queue_id, offsets, next_offset, group, peer))
        attempt_id, pop_time_ms = header.attempt_id, self.pop_time_ms
        journal.note(
            (
                POPPED,
                node,
                group,
                topic,
                queue_id,
                offset,
                result.message_count,
                pop_time_ms,
                pop_time_ms + header.invisible_time,
                self.revive_queue_id == ORDER_REVIVE_QUEUE,
                peer,
                None if attempt_id is None else shortened(attempt_id),
            )
        )
