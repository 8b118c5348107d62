"""How a transaction check asks a producer about a half message that it has put back.

Source: broker/transaction/AbstractTransactionalMessageCheckListener.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.broker.sending.transactions import check_times
from fakemq.events.core import TransactionChecked
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import LocalProtocolError, NumberFormatError
from fakemq.protocol.header import parse_int
from fakemq.protocol.headers.transaction import CheckTransactionStateRequestHeader
from fakemq.protocol.message import MessageExt, encode_record
from fakemq.protocol.properties import (
    PRODUCER_GROUP,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.broker.clients.client_channel import ClientCalls
    from fakemq.broker.clients.producers import ProducerManager
    from fakemq.broker.sending.transactions import TransactionalMessageService
    from fakemq.broker.tables.offsets import ConsumerOffsetManager
    from fakemq.broker.tables.stats import BrokerStatsManager
    from fakemq.broker.tables.topics import TopicConfigManager
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session
    from fakemq.protocol.properties import PropertiesEncoder
    from fakemq.store.puts import AppendMessageResult
    from fakemq.store.store import MessageStore

THREADS = 2
"""How many threads ask producers."""


class CheckParts(NamedTuple):
    """The parts of a broker that a check needs."""

    node: NodeContext[BrokerConfig]
    store: MessageStore
    topics: TopicConfigManager
    offsets: ConsumerOffsetManager
    producers: ProducerManager
    stats: BrokerStatsManager
    calls: ClientCalls
    transactions: TransactionalMessageService
    may_publish: Callable[[Session, str], bool]
    """Whether the account of a producer may send to a topic."""


class Asking:
    """Asks producers about half messages, as Java's two threads: nearly in their order.

    Of two half messages that wait, the cluster's seed chooses the one that is asked for first.
    Source: AbstractTransactionalMessageCheckListener.java#initExecutorService (4.9.7)
    """

    def __init__(self, parts: CheckParts) -> None:
        self._parts = parts
        self._waiting: list[tuple[MessageExt, AppendMessageResult]] = []

    def add(self, half: MessageExt, appended: AppendMessageResult) -> None:
        """Ask about a half message that has been put back to its new place, soon."""
        self._waiting.append((half, appended))
        if len(self._waiting) == THREADS:
            self._ask_one()

    def finish(self) -> None:
        """Ask about all that wait."""
        while self._waiting:
            self._ask_one()

    def _ask_one(self) -> None:
        several = len(self._waiting) > 1
        chosen = self._parts.node.randomness.randrange(len(self._waiting)) if several else 0
        self._resolve_half_msg(*self._waiting.pop(chosen))

    def _resolve_half_msg(self, half: MessageExt, appended: AppendMessageResult) -> None:
        """Ask a producer of the half message's group."""
        group = half.properties.get(PRODUCER_GROUP)
        peer = self._send_check_message(half, appended, group)
        self._parts.node.journal.add(
            TransactionChecked(
                node=self._parts.node.name,
                topic=half.properties.get(REAL_TOPIC, ""),
                from_half_offset=half.queue_offset,
                half_offset=appended.logics_offset,
                times=check_times(half),
                group=group or "",
                peer=None if peer is None else peer.remote_addr,
                msg_id=half.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
            )
        )

    def _send_check_message(
        self, half: MessageExt, appended: AppendMessageResult, group: str | None
    ) -> Session | None:
        """Return the asked producer; None if there is none, or if Java could not ask."""
        topic = half.properties.get(REAL_TOPIC)
        try:
            queue_id = parse_int(half.properties.get(REAL_QUEUE_ID, ""))
        except NumberFormatError:
            return None
        if group is None or topic is None:
            return None
        session = self._parts.producers.available_channel(
            group, lambda one: self._parts.may_publish(one, topic)
        )
        if session is None or not half.body:  # Java's encoder wants a body
            return None
        try:
            encode = self._parts.node.reference.encode_properties
            body = _encode(half, topic, queue_id, appended, encode)
        except LocalProtocolError:  # a topic too long for a record, of a check that was resumed
            return None
        unique_id = half.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
        header = CheckTransactionStateRequestHeader(
            tran_state_table_offset=appended.logics_offset,
            commit_log_offset=appended.wrote_offset,
            msg_id=unique_id,
            transaction_id=unique_id,
            offset_msg_id=appended.msg_id,
        )
        fields, node = header.encode(), self._parts.node
        if node.reference.checks_name_topic:
            fields |= {"bname": node.config.broker_name, "topic": half.topic}
        self._parts.calls.send_oneway(
            session,
            RemotingCommand(RequestCode.CHECK_TRANSACTION_STATE, ext_fields=fields, body=body),
        )
        return session


def _encode(
    half: MessageExt,
    topic: str,
    queue_id: int,
    appended: AppendMessageResult,
    encode_properties: PropertiesEncoder,
) -> bytes:
    """Return the message for its producer: with its new offsets, its real topic and queue.

    All else is as it was read, its store time, too. Source: common/message/MessageDecoder.java
    #encode (4.9.7)
    """
    return encode_record(
        topic,
        half.body,
        encode_properties(half.properties),
        queue_id=queue_id,
        born_host=half.born_host,
        store_host=half.store_host,
        flag=half.flag,
        sys_flag=half.sys_flag,
        queue_offset=appended.logics_offset,
        physical_offset=appended.wrote_offset,
        born_timestamp_ms=half.born_timestamp_ms,
        store_timestamp_ms=half.store_timestamp_ms,
        reconsume_times=half.reconsume_times,
        prepared_transaction_offset=half.prepared_transaction_offset,
    )
