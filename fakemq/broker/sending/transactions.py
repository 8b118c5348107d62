"""Half messages: how they are stored, committed, rolled back and put back.

A half message waits in RMQ_SYS_TRANS_HALF_TOPIC; a property names its real topic. When its
transaction ends, its queue offset is stored as an op in RMQ_SYS_TRANS_OP_HALF_TOPIC. Checks read
there which half messages are finished. This module stores all those messages; `transaction_check`
decides which half messages are checked.

Source: broker/transaction/queue/TransactionalMessageServiceImpl.java,
broker/transaction/queue/TransactionalMessageBridge.java (4.9.7)
"""

# Over 400 lines: what producers, ends and checks store is made alike.

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.broker.addresses import store_host
from fakemq.clock.slices import removed_where
from fakemq.clock.timers import SEEN_MS, notes_nothing
from fakemq.dispatch.outcomes import required
from fakemq.events.core import HalfStored, TransactionDiscarded
from fakemq.later import Later
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_bool, parse_int, parse_long
from fakemq.protocol.properties import (
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TAGS,
    TRANSACTION_CHECK_TIMES,
    TRANSACTION_PREPARED,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    WAIT_STORE_MSG_OK,
    MadeProperties,
)
from fakemq.protocol.sysflag import MessageSysFlag, with_transaction_type
from fakemq.protocol.topics import (
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from fakemq.store.inner_message import InnerMessage, inner_message

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import TypeAlias

    from fakemq.broker.sending.puts import Put, Putting
    from fakemq.broker.tables.offsets import ConsumerOffsetManager
    from fakemq.broker.tables.topics import TopicConfigManager
    from fakemq.clock.slices import Steps
    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
    from fakemq.protocol.message import MessageExt
    from fakemq.store.puts import AppendMessageResult, PutMessageResult
    from fakemq.store.store import MessageStore

    Round: TypeAlias = Generator[int | Later[PutMessageResult], None, None]
    """A check in steps; each yields for how many milliseconds the check sleeps now, mostly 0, or
    the answer of another broker that it waits for."""

CID_SYS_RMQ_TRANS = "CID_RMQ_SYS_TRANS"
"""The group under which a broker commits its offsets in half messages and ops."""

REMOVE_TAG = "d"
"""The tag of an op: the half message is finished."""


class TransactionalMessageService:
    """Stores half messages and ops, and starts a check every transactionCheckInterval.

    A half message that is put back gets a new offset in its queue. For `age_ms` this remembers when
    it first arrived.
    """

    cleared_from_commits: tuple[str, ...] = ()
    """Which properties of a half message its committed copy is stored without."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        store: MessageStore,
        topics: TopicConfigManager,
        offsets: ConsumerOffsetManager,
        *,
        put: Callable[[InnerMessage], PutMessageResult],
        escape: Put,
        check: Callable[[], Round],
    ) -> None:
        self._node = node
        self._store = store
        self._topics = topics
        self._offsets = offsets
        self._put = put
        """Stores a message and wakes the pulls that wait for it."""
        self._escape = escape
        self._check = check
        """Checks all half messages once; it may take long, and sleep between two of them."""
        self._timer: Timer | None = None
        self._put_under_way: Later[PutMessageResult] | None = None
        self._interval_ms = 0
        self._arrived_ms: dict[int, int] = {}
        self._encode = node.reference.encode_properties
        self._forget()

    # -- life ---------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to check, if the broker has a master's duties.

        Source: broker/transaction/TransactionalMessageCheckService.java#run (4.9.7)
        """
        self._node.clock.cancel(
            self._timer
        )  # the timer of a broker that was a master until a reset
        if self._store.role.has_duties:
            self._interval_ms = self._node.config.transaction_check_interval
            self._wait()

    def stop(self) -> None:
        """Check no more; a check that is under way ends where it is."""
        self._node.clock.cancel(self._timer)
        self._timer = self._put_under_way = None
        self._node.clock.drop_of(self)

    def reset(self, *, running: bool) -> None:
        """Forget all transactions.

        The next check of a ``running`` broker is a whole interval away.
        """
        self._forget()
        if running:
            self.start()

    def _forget(self) -> None:
        self._arrived_ms.clear()

    def _wait(self) -> None:
        self._node.clock.cancel(self._timer)
        # A longer one may not have come since the last half message when a skip begins.
        is_routine = 0 < self._interval_ms <= SEEN_MS and self._is_all_checked()
        self._timer = self._node.clock.call_later(
            self._interval_ms,
            self._on_wait_end,
            kind="txn_check",
            routine=notes_nothing if is_routine else None,
            grid_ms=self._interval_ms,
        )

    def _is_all_checked(self) -> bool:
        """Return whether a check would find neither half messages nor ops."""
        half_topic = self._topics.select(TRANS_HALF_TOPIC)
        # A half message may be stored before its topic has a config, which the first check makes.
        queues = range(1 if half_topic is None else half_topic.read_queue_nums)
        return all(
            self._store.max_offset_in_queue(topic, queue_id)
            == max(0, self._offsets.query(CID_SYS_RMQ_TRANS, topic, queue_id))
            for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC)
            for queue_id in queues
        )

    def _on_wait_end(self) -> None:
        self._continue(self._check())

    def _continue(self, check: Round) -> None:
        self._node.clock.carry_out(self._until_it_sleeps(check), peer=self)

    def _until_it_sleeps(self, check: Round) -> Steps[None]:
        """Continue a check until it sleeps or ends; the next one is an interval after its end."""
        try:
            for sleep_ms in check:
                if isinstance(sleep_ms, Later):
                    self._put_under_way = sleep_ms
                    sleep_ms.when_done(partial(self._escaped, check, sleep_ms))
                    return
                if sleep_ms:
                    self._timer = self._node.clock.call_later(
                        sleep_ms, lambda: self._continue(check), kind="txn_check_sleep"
                    )
                    return
                yield
        except Exception:
            self._wait()
            raise
        self._wait()

    def _escaped(self, check: Round, put: Later[PutMessageResult]) -> None:
        if self._put_under_way is put:  # else it was stopped meanwhile
            self._put_under_way = None
            self._continue(check)

    # -- what producers ask for ---------------------------------------------------------------

    def prepare_message(self, message: InnerMessage) -> PutMessageResult:
        """Store a message as a half message, which no consumer gets before the commit.

        The caller notifies the broker of the arrival.

        Source: TransactionalMessageBridge.java#parseHalfMessageInner (4.9.7)
        """
        topic, queue_id, properties = message.topic, message.queue_id, message.properties
        properties[REAL_TOPIC] = topic
        properties[REAL_QUEUE_ID] = str(queue_id)
        message.sys_flag = with_transaction_type(
            message.sys_flag, MessageSysFlag.TRANSACTION_NOT_TYPE
        )
        message.topic, message.queue_id = TRANS_HALF_TOPIC, 0
        message.properties_string = self._encode(properties)
        result = self._store.put_message(message)
        if result.append_result is not None:
            self._node.journal.add(
                HalfStored(
                    node=self._node.name,
                    topic=topic,
                    queue_id=queue_id,
                    half_offset=result.append_result.logics_offset,
                    phy_offset=result.append_result.wrote_offset,
                    msg_id=properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
                )
            )
        return result

    def commit_message(self, half: MessageExt) -> PutMessageResult:
        """Store a half message in its real topic, even if that was done before.

        The stored properties still say that it was a half message, and all but
        `cleared_from_commits` are there. Raise HeaderError for one without a real topic or queue
        id.

        Source: broker/processor/EndTransactionProcessor.java#endMessageTransaction (4.9.7)
        """
        properties = half.properties
        queue_id = parse_int(properties.get(REAL_QUEUE_ID, "null"))
        topic = required(properties.get(REAL_TOPIC), "Message", "topic")
        for name in self.cleared_from_commits:
            properties.pop(name, None)
        message = InnerMessage.of(half, topic, queue_id, properties, self._encode)
        message.sys_flag = with_transaction_type(
            half.sys_flag, MessageSysFlag.TRANSACTION_COMMIT_TYPE
        )
        message.prepared_transaction_offset = half.commit_log_offset
        message.wait_store_msg_ok = parse_bool(properties.get(WAIT_STORE_MSG_OK, "true"))
        # The stored text is made before. So this has an effect only for delayed messages, whose
        # text is made again on their way through the schedule topic.
        for name in (REAL_TOPIC, REAL_QUEUE_ID, TRANSACTION_PREPARED):
            properties.pop(name, None)
        return self._put(message)

    def check_end(self, half: MessageExt, header: EndTransactionRequestHeader) -> None:
        """Raise Refused for an end of this half message that comes too late; 4.9.7 knows none."""

    def delete_prepare_message(self, half: MessageExt) -> None:
        """Store an op: the half message is finished. A refusal of the store is ignored.

        Source: TransactionalMessageBridge.java#addRemoveTagInTransactionOp (4.9.7)
        """
        self._put_op(half.queue_id, str(half.queue_offset))

    def _put_op(self, queue_id: int, text: str) -> None:
        host = store_host(self._node.config)
        properties = MadeProperties({TAGS: REMOVE_TAG, WAIT_STORE_MSG_OK: "true"})
        self._put(
            inner_message(
                TRANS_OP_HALF_TOPIC,
                queue_id,
                text.encode(),
                properties=properties,
                properties_string=self._encode(properties),
                born_timestamp_ms=self._node.clock.now_ms(),
                born_host=host,
                store_host=host,
                wait_store_msg_ok=False,
            )
        )

    def resume_check(self, message: MessageExt) -> PutMessageResult:
        """Store any stored message as a half message, as if it had never been checked.

        Source: broker/processor/AdminBrokerProcessor.java#toMessageExtBrokerInner (4.9.7)
        """
        message.properties[TRANSACTION_CHECK_TIMES] = "0"
        again = InnerMessage.of(message, TRANS_HALF_TOPIC, 0, message.properties, self._encode)
        return self._put_again(again, message)

    # -- what checks ask for ------------------------------------------------------------------

    def finished_by(self, op: MessageExt) -> list[int] | None:
        """Return the offsets of the half messages that an op ends; None for one that is none.

        An offset that is no number is -1. An op is done when a check has met all of them.

        Source: TransactionalMessageServiceImpl.java#fillOpRemoveMap (4.9.7)
        """
        if op.tags != REMOVE_TAG:
            return None
        return [self._half_offset(op.body.decode("utf-8", "replace"))]

    @staticmethod
    def _half_offset(text: str) -> int:
        """Source: TransactionalMessageServiceImpl.java#getLong (4.9.7)"""
        try:
            return parse_long(text)
        except NumberFormatError:
            return -1

    def age_ms(self, half: MessageExt) -> int:
        """Return the age of a half message, for the decision whether to check it.

        There are two cases. If the cluster's clock shows the real time, the age counts from the
        producer's born timestamp. Otherwise no outside producer has the same time, and the age
        counts from the arrival of the half message.
        """
        clock = self._node.clock
        if clock.follows_real_time:
            return clock.now_ms() - half.born_timestamp_ms
        return clock.now_ms() - self._arrived_at_ms(half)

    def put_back(self, half: MessageExt) -> AppendMessageResult | None:
        """Put a half message behind all others before its producer is asked.

        Return None if the store refuses it. Flag and reconsume times are lost.

        Source: TransactionalMessageBridge.java#renewHalfMessageInner (4.9.7)
        """
        return self._renew(half)

    def put_back_immune(self, half: MessageExt) -> bool:
        """Put a half message behind all others because it is too early to ask.

        Return False if the store refuses it.

        Source: TransactionalMessageBridge.java#renewImmunityHalfMessageInner (4.9.7)
        """
        half.properties[WAIT_STORE_MSG_OK] = "false"
        half.properties.setdefault(TRANSACTION_PREPARED_QUEUE_OFFSET, str(half.queue_offset))
        return self._renew(half) is not None

    def escape(self, half: MessageExt) -> Putting:
        """Send a half message to another broker, which checks it from now on.

        Source: TransactionalMessageBridge.java#escapeMessage, #renewHalfMessageInner (5.5.0)
        """
        return self._escape(self._renewed(half))

    def discard(self, half: MessageExt) -> None:
        """Move a half message to TRANS_CHECK_MAX_TIME_TOPIC, which is created if needed.

        Source: broker/transaction/queue/DefaultTransactionalMessageCheckListener.java (4.9.7)
        """
        node, properties = self._node, half.properties
        topic = self._topics.create_in_send_back(TRANS_CHECK_MAX_TIME_TOPIC, 1)
        message = InnerMessage.of(half, topic.topic_name or "", 0, properties, self._encode)
        result = self._put_again(message, half)
        if result.ok:
            node.journal.add(
                TransactionDiscarded(
                    node=node.name,
                    topic=properties.get(REAL_TOPIC, ""),
                    half_offset=half.queue_offset,
                    times=check_times(half),
                    msg_id=properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, ""),
                )
            )

    def forget_before(self, half_offset: int) -> Steps[None]:
        """Forget the arrival of the half messages before an offset: checks have passed them."""
        return removed_where(self._arrived_ms, lambda offset: offset < half_offset)

    # -- inside -------------------------------------------------------------------------------

    def _renew(self, half: MessageExt) -> AppendMessageResult | None:
        result = self._put_again(self._renewed(half), half)
        return result.append_result if result.ok else None

    def _renewed(self, half: MessageExt) -> InnerMessage:
        message = InnerMessage.of(half, half.topic, half.queue_id, half.properties, self._encode)
        message.flag = message.reconsume_times = 0
        return message

    def _put_again(self, message: InnerMessage, before: MessageExt) -> PutMessageResult:
        # Set after the text was made, and so not stored.
        message.properties[WAIT_STORE_MSG_OK] = "false"
        result = self._put(message)
        if result.append_result is not None and message.topic == TRANS_HALF_TOPIC:
            self._arrived_ms[result.append_result.logics_offset] = self._arrived_at_ms(before)
        return result

    def _arrived_at_ms(self, message: MessageExt) -> int:
        if message.topic != TRANS_HALF_TOPIC:  # one of any topic whose check was resumed
            return message.store_timestamp_ms
        return self._arrived_ms.get(message.queue_offset, message.store_timestamp_ms)


def check_times(half: MessageExt) -> int:
    """Return how often a half message was checked, by its property; -1 if that is no number.

    Source: TransactionalMessageServiceImpl.java#getInt (4.9.7)
    """
    try:
        return parse_int(half.properties.get(TRANSACTION_CHECK_TIMES, "0"))
    except NumberFormatError:
        return -1
