"""From the commit log to everything built out of it.

Java looks for new records each millisecond; here they are dispatched within the append.
Source: store/DefaultMessageStore.java#ReputMessageService (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fakemq.events import Dispatched
from fakemq.protocol.message import tags_code as code_of
from fakemq.protocol.properties import TAGS
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store.commitlog import UNQUEUED

if TYPE_CHECKING:
    from fakemq.config import BrokerConfig
    from fakemq.journal import Journal
    from fakemq.store.consumequeues import ConsumeQueues
    from fakemq.store.index import IndexService


class MessageArrivingListener(Protocol):
    """Told of every message that can be pulled. Source: store/MessageArrivingListener.java"""

    def __call__(
        self,
        topic: str,
        queue_id: int,
        max_offset: int,
        tags_code: int,
        store_timestamp_ms: int,
        properties: dict[str, str],
        /,
    ) -> None: ...


class Reput:
    """Feeds the consume queues, then the listener."""

    def __init__(
        self,
        config: BrokerConfig,
        queues: ConsumeQueues,
        index: IndexService,
        journal: Journal,
        node: str,
    ) -> None:
        self._config = config
        self._queues = queues
        self._index = index
        self._journal = journal
        self._node = node

    def dispatch(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        phy_offset: int,
        size_bytes: int,
        sys_flag: int,
        store_timestamp_ms: int,
        properties: dict[str, str],
        now_ms: int,
        arriving: MessageArrivingListener | None,
    ) -> None:
        """Do for one record all that its being in the log brings about.

        Prepared and rolled-back transactions come into no queue; the listener hears of all, as in
        Java. The index reads the log by itself, when it is asked.
        """
        tags_code = code_of(properties.get(TAGS))
        if sys_flag & MessageSysFlag.TRANSACTION_MASK not in UNQUEUED:
            self._queues.find_or_make(topic, queue_id).append(
                phy_offset, size_bytes, tags_code, queue_offset, now_ms
            )
        if not self._config.message_index_enable:
            self._index.pass_over(phy_offset, phy_offset + size_bytes)
        self._journal.add(
            Dispatched(
                node=self._node,
                topic=topic,
                queue_id=queue_id,
                queue_offset=queue_offset,
                phy_offset=phy_offset,
            )
        )
        if arriving is not None and self._config.long_polling_enable:
            arriving(topic, queue_id, queue_offset + 1, tags_code, store_timestamp_ms, properties)
