"""One check of all half messages.

Half messages are checked in the order of their queue, each once. There are four outcomes:
1. It is finished, as an op says: skip it.
2. It was checked too often, or is too old: discard it.
3. It is old enough: put it back behind the others, and ask a producer of its group.
4. It is too young: the check ends, or puts it back if it has an immunity time of its own.

A check of 5.5.0 that has ops ahead and finds no more of them sleeps a second before it decides. So
its checks do not keep step with its ops. With 4.9.7 no time passes during a check.

Source: broker/transaction/queue/TransactionalMessageServiceImpl.java#check,
broker/transaction/AbstractTransactionalMessageCheckListener.java (4.9.7 and 5.5.0)
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from fakemq.broker.transactions import CID_SYS_RMQ_TRANS, check_times
from fakemq.events.core import TransactionChecked
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.errors import LocalProtocolError, NumberFormatError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.headers.transaction import CheckTransactionStateRequestHeader
from fakemq.protocol.java import int64
from fakemq.protocol.message import MessageExt, decode_records, encode_record
from fakemq.protocol.properties import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    PRODUCER_GROUP,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TRANSACTION_CHECK_TIMES,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.protocol.topics import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from fakemq.store.results import GetMessageStatus

if TYPE_CHECKING:
    from collections.abc import Generator

    from fakemq.broker.client_calls import ClientCalls
    from fakemq.broker.offsets import ConsumerOffsetManager
    from fakemq.broker.producers import ProducerManager
    from fakemq.broker.stats import BrokerStatsManager
    from fakemq.broker.topics import TopicConfigManager
    from fakemq.broker.transactions import Round, TransactionalMessageService
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session
    from fakemq.protocol.properties import PropertiesEncoder
    from fakemq.store.puts import AppendMessageResult
    from fakemq.store.results import GetMessageResult
    from fakemq.store.store import MessageStore

HOUR_MS = 3_600_000
MOST_MS = 60_000
"""How long the check of one queue may take."""
THREADS = 2
"""How many threads ask producers."""
OPS_AT_ONCE = 32
_NO_NEW_MSG = (GetMessageStatus.NO_MESSAGE_IN_QUEUE, GetMessageStatus.OFFSET_OVERFLOW_ONE)


class Parts(NamedTuple):
    """The parts of a broker that a check needs."""

    node: NodeContext[BrokerConfig]
    store: MessageStore
    topics: TopicConfigManager
    offsets: ConsumerOffsetManager
    producers: ProducerManager
    stats: BrokerStatsManager
    calls: ClientCalls
    transactions: TransactionalMessageService


def check(parts: Parts) -> Round:
    """Look at every queue of the half topic; create the topic if it does not exist."""
    topic = parts.topics.create_in_send_back(TRANS_HALF_TOPIC, 1)
    asking = _Asking(parts)
    for queue_id in range(topic.read_queue_nums):
        yield from _QueueCheck(parts, queue_id, asking).run()
    asking.finish()


class _Step(Enum):
    """What to do after one half message: take the next, check this again, or stop."""

    NEXT = auto()
    AGAIN = auto()
    SLEEP = auto()
    """Check this again after the sleep of the reference."""
    STOP = auto()


class _QueueCheck:
    """One run over one half queue and the op queue that belongs to it."""

    def __init__(self, parts: Parts, queue_id: int, asking: _Asking) -> None:
        self._parts = parts
        self._asking = asking
        self._queue_id = queue_id
        self._start_ms = parts.node.clock.now_ms()
        self._half_offset = self._fetch_consume_offset(TRANS_HALF_TOPIC)
        self._op_offset = self._next_op_offset = self._fetch_consume_offset(TRANS_OP_HALF_TOPIC)
        # In Java a run may meet by chance what it has put back itself, because another thread puts
        # it into the queue. Usually it does not, and here it never does.
        self._end = parts.store.max_offset_in_queue(TRANS_HALF_TOPIC, queue_id)
        self._removed: dict[int, int] = {}
        """The finished half messages: queue offset → queue offset of the op."""
        self._open: dict[int, set[int]] = {}
        """The ops that are not done: queue offset → the half messages that were not met yet."""
        self._done_ops: list[int] = []
        self._ops: list[MessageExt] | None = None
        """The ops read last; None if there were no more."""

    def run(self) -> Round:
        if self._half_offset < 0 or self._op_offset < 0:
            return
        self._fill_removed()
        offset = yield from self._walk()
        if offset != self._half_offset:
            self._update_consume_offset(TRANS_HALF_TOPIC, offset)
            self._parts.transactions.forget_before(offset)
        op_offset = self._new_op_offset()
        if op_offset != self._op_offset:
            self._update_consume_offset(TRANS_OP_HALF_TOPIC, op_offset)

    def _walk(self) -> Generator[int, None, int]:
        """Check half messages until one is too young; return the offset of the next run."""
        clock, sleep_ms = self._parts.node.clock, self._parts.node.reference.check_sleep_ms
        offset = self._half_offset
        strayed = False
        while clock.now_ms() - self._start_ms <= MOST_MS:
            yield 0
            if offset in self._removed:
                self._met(offset)
                offset += 1
                continue
            if offset == self._end:
                return offset
            found = self._get(TRANS_HALF_TOPIC, offset, 1)
            if found.status is not GetMessageStatus.FOUND:
                if strayed or found.status in _NO_NEW_MSG:
                    return offset
                strayed = True
                offset = found.next_begin_offset
                continue
            step = self._look_at(decode_records(found.body)[0])
            if step is _Step.STOP:
                return offset
            if step is _Step.NEXT:
                offset += 1
            elif step is _Step.SLEEP:
                self._asking.finish()  # the threads that ask do not sleep
                yield sleep_ms
        return offset

    def _look_at(self, half: MessageExt) -> _Step:
        transactions, config = self._parts.transactions, self._parts.node.config
        age_ms = transactions.age_ms(half)
        # Java does both before anything else: so it also counts a check of a half message that is
        # put back as immune.
        if self._need_discard(half) or age_ms > config.file_reserved_time * HOUR_MS:
            transactions.discard(half)
            return _Step.NEXT
        if half.store_timestamp_ms >= self._start_ms:
            return _Step.STOP
        immunity_ms = config.transaction_time_out
        seconds = half.properties.get(CHECK_IMMUNITY_TIME_IN_SECONDS)
        if seconds is not None:
            immunity_ms = _immunity_ms(seconds, immunity_ms)
        immunity_ms += self._parts.node.reference.immunity_lag_ms
        if seconds is not None:
            if age_ms < immunity_ms and self._stays_immune(half):
                return _Step.NEXT
        elif 0 <= age_ms < immunity_ms:
            return _Step.STOP
        if self._need_check(age_ms, immunity_ms):
            appended = transactions.put_back(half)
            if appended is None:  # Java tries again for 60 s
                return _Step.STOP
            self._asking.add(half, appended)
            return _Step.NEXT
        sleeps = self._parts.node.reference.check_sleep_ms > 0
        if self._ops is None and not sleeps:  # it repeats this until it is old enough, or for 60 s
            return _Step.STOP
        self._fill_removed()
        return _Step.SLEEP if self._ops is None and sleeps else _Step.AGAIN

    def _need_discard(self, half: MessageExt) -> bool:
        """Return whether it was checked often enough; if not, count this check."""
        times = 0
        if TRANSACTION_CHECK_TIMES in half.properties:
            times = check_times(half)
            if times >= self._parts.node.config.transaction_check_max:
                return True
        half.properties[TRANSACTION_CHECK_TIMES] = str(times + 1)
        return False

    def _stays_immune(self, half: MessageExt) -> bool:
        """Source: TransactionalMessageServiceImpl.java#checkPrepareQueueOffset (4.9.7)"""
        prepared_at = half.properties.get(TRANSACTION_PREPARED_QUEUE_OFFSET)
        if prepared_at is not None:
            offset = _long(prepared_at)
            if offset == -1:
                return False
            if offset in self._removed:
                self._done_ops.append(self._removed.pop(offset))
                return True
        return self._parts.transactions.put_back_immune(half)

    def _need_check(self, age_ms: int, immunity_ms: int) -> bool:
        if age_ms <= -1:
            return True
        if self._ops is None:
            # In this very millisecond Java repeats the check until it is over.
            return age_ms >= immunity_ms
        ahead_ms = self._ops[-1].born_timestamp_ms - self._start_ms
        return ahead_ms > self._parts.node.config.transaction_time_out

    # -- ops ----------------------------------------------------------------------------------

    def _fill_removed(self) -> None:
        """Read some ops into `_ops`; None if there are no more.

        Source: TransactionalMessageServiceImpl.java#fillOpRemoveMap (4.9.7)
        """
        found = self._get(TRANS_OP_HALF_TOPIC, self._next_op_offset, OPS_AT_ONCE)
        self._next_op_offset = found.next_begin_offset
        if found.status is not GetMessageStatus.FOUND:
            self._ops = None
            if found.status not in _NO_NEW_MSG:
                self._update_consume_offset(TRANS_OP_HALF_TOPIC, found.next_begin_offset)
            return
        self._ops = decode_records(found.body)
        for op in self._ops:
            finished = self._parts.transactions.finished_by(op)
            if finished is None:
                continue
            ahead = {offset for offset in finished if offset >= self._half_offset}
            if not ahead:
                self._done_ops.append(op.queue_offset)
                continue
            self._open[op.queue_offset] = ahead
            for half_offset in ahead:
                self._removed[half_offset] = op.queue_offset

    def _met(self, half_offset: int) -> None:
        """Note that a finished half message was met; its op is done when all of it were.

        Source: TransactionalMessageServiceImpl.java#check (5.5.0)
        """
        op_offset = self._removed.pop(half_offset)
        ahead = self._open[op_offset]
        ahead.discard(half_offset)
        if not ahead:
            self._done_ops.append(op_offset)

    def _new_op_offset(self) -> int:
        """Return the offset of the first op that is not done."""
        offset = self._op_offset
        for done in sorted(self._done_ops):
            if done != offset:
                break
            offset += 1
        return offset

    # -- queues -------------------------------------------------------------------------------

    def _get(self, topic: str, offset: int, count: int) -> GetMessageResult:
        parts, group = self._parts, CID_SYS_RMQ_TRANS
        found = parts.store.get_message(group, topic, self._queue_id, offset, count)
        if found.message_count:
            parts.stats.read_for_check(group, topic, found.message_count, found.buffer_total_size)
        return found

    def _fetch_consume_offset(self, topic: str) -> int:
        offset = self._parts.offsets.query(CID_SYS_RMQ_TRANS, topic, self._queue_id)
        if offset == -1:
            offset = self._parts.store.min_offset_in_queue(topic, self._queue_id)
        return offset

    def _update_consume_offset(self, topic: str, offset: int) -> None:
        self._parts.offsets.commit(CID_SYS_RMQ_TRANS, topic, self._queue_id, offset)


class _Asking:
    """Asks producers about half messages, as Java's two threads: nearly in their order.

    Of two half messages that wait, the cluster's seed chooses the one that is asked for first.
    Source: AbstractTransactionalMessageCheckListener.java#initExecutorService (4.9.7)
    """

    def __init__(self, parts: Parts) -> None:
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
        session = None if group is None else self._parts.producers.available_channel(group)
        if session is None or topic is None or not half.body:  # Java's encoder wants a body
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


def _immunity_ms(seconds: str, default_ms: int) -> int:
    """Source: TransactionalMessageServiceImpl.java#getImmunityTime (4.9.7)"""
    value = _long(seconds)
    return default_ms if value == -1 else int64(value * 1000)


def _long(text: str) -> int:
    """Source: TransactionalMessageServiceImpl.java#getLong (4.9.7)"""
    try:
        return parse_long(text)
    except NumberFormatError:
        return -1
