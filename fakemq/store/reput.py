"""From the commit log to everything built out of it.

Java looks for new records each millisecond; here they are dispatched within the append.
Source: store/DefaultMessageStore.java#ReputMessageService (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.events.core import Dispatched, LogAppended
from fakemq.protocol.message import tags_code as code_of
from fakemq.protocol.properties import TAGS, UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.protocol.topics import SCHEDULE_TOPIC
from fakemq.store.commitlog import UNQUEUED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.config.model import BrokerConfig
    from fakemq.journal.journal import Journal
    from fakemq.store.consumequeues import ConsumeQueues
    from fakemq.store.delay_levels import DelayLevels
    from fakemq.store.index import IndexService
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.record_drafts import Member
    from fakemq.store.results import AppendMessageResult


class MessageArrivingListener(Protocol):
    """Told of every message that can be pulled. Source: store/MessageArrivingListener.java"""

    def __call__(
        self,
        topic: str,
        queue_id: int,
        max_offset: int,
        tags_code: int,
        store_timestamp_ms: int,
        properties: bytes,
        /,
    ) -> None:
        """``properties`` are as they are stored: few listeners need them decoded."""


class MessageScheduledListener(Protocol):
    """Told of every message that came into the schedule topic."""

    def __call__(
        self,
        queue_id: int,
        queue_offset: int,
        phy_offset: int,
        deliver_timestamp_ms: int,
        properties: dict[str, str],
        /,
    ) -> None: ...


class Reput:
    """Writes down what was appended, works out when it is due, feeds queues, then listeners."""

    def __init__(
        self,
        config: BrokerConfig,
        queues: ConsumeQueues,
        index: IndexService,
        delay_levels: DelayLevels,
        journal: Journal,
        node: str,
    ) -> None:
        self._config = config
        self._queues = queues
        self._index = index
        self._delay_levels = delay_levels
        self._journal = journal
        self._node = node

    def appended(
        self,
        message: InnerMessage,
        members: Sequence[Member],
        result: AppendMessageResult,
        arriving: MessageArrivingListener | None,
        scheduled: MessageScheduledListener | None,
    ) -> None:
        """Do for the records of a put all that their being in the log brings about.

        Prepared and rolled-back transactions come into no queue; ``arriving`` hears of all, as in
        Java. The index reads the log by itself, when it is asked.
        """
        topic, queue_id, node, add = message.topic, message.queue_id, self._node, self._journal.add
        queue_offset, phy_offset = result.logics_offset, result.wrote_offset
        stored_ms = result.store_timestamp_ms
        queued = message.sys_flag & MessageSysFlag.TRANSACTION_MASK not in UNQUEUED
        queue = self._queues.find_or_make(topic, queue_id) if queued else None
        config = self._config
        for _, _, stored, properties, record_bytes in members:
            add(
                LogAppended(
                    node=node,
                    topic=topic,
                    queue_id=queue_id,
                    queue_offset=queue_offset,
                    phy_offset=phy_offset,
                    size_bytes=record_bytes,
                    msg_id=properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
                )
            )
            tags_code = code_of(properties.get(TAGS))
            due_ms = None
            if topic == SCHEDULE_TOPIC:
                due_ms = self._delay_levels.deliver_timestamp_ms(properties, stored_ms)
                tags_code = tags_code if due_ms is None else due_ms
            if queue is not None:
                queue.append(phy_offset, record_bytes, tags_code, queue_offset, stored_ms)
            if not config.message_index_enable:
                self._index.pass_over(phy_offset, phy_offset + record_bytes)
            add(
                Dispatched(
                    node=node,
                    topic=topic,
                    queue_id=queue_id,
                    queue_offset=queue_offset,
                    phy_offset=phy_offset,
                )
            )
            queue_offset += 1
            if due_ms is not None and scheduled is not None:
                scheduled(queue_id, queue_offset - 1, phy_offset, due_ms, properties)
            if arriving is not None and config.long_polling_enable:
                arriving(topic, queue_id, queue_offset, tags_code, stored_ms, stored)
            phy_offset += record_bytes
