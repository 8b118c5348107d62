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
from typing import TYPE_CHECKING

from fakemq.broker.sending.transaction_asking import Asking, CheckParts
from fakemq.broker.sending.transactions import CID_SYS_RMQ_TRANS, check_times
from fakemq.events.core import Warned
from fakemq.journal.journal import shortened
from fakemq.later import Later
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long
from fakemq.protocol.java import int64
from fakemq.protocol.message import MessageExt, decode_good_records
from fakemq.protocol.properties import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    REAL_TOPIC,
    TRANSACTION_CHECK_TIMES,
    TRANSACTION_PREPARED_QUEUE_OFFSET,
)
from fakemq.protocol.topics import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from fakemq.store.results import GetMessageStatus

if TYPE_CHECKING:
    from collections.abc import Generator

    from fakemq.broker.sending.transactions import Round
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.results import GetMessageResult

HOUR_MS = 3_600_000
MOST_MS = 60_000
"""How long the check of one queue may take."""
OPS_AT_ONCE = 32
MOST_ESCAPE_FAILURES = 10
_NO_NEW_MSG = (GetMessageStatus.NO_MESSAGE_IN_QUEUE, GetMessageStatus.OFFSET_OVERFLOW_ONE)


def check(parts: CheckParts) -> Round:
    """Look at every queue of the half topic; create the topic if it does not exist."""
    topic = parts.topics.create_in_send_back(TRANS_HALF_TOPIC, 1)
    asking = Asking(parts)
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

    def __init__(self, parts: CheckParts, queue_id: int, asking: Asking) -> None:
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
        self._escapes = parts.store.role.is_slave  # it checks for its master, which is away
        self._escape_failures = 0
        self._ops: list[MessageExt] | None = None
        """The ops read last; None if there were no more."""

    def run(self) -> Round:
        if self._half_offset < 0 or self._op_offset < 0:
            return
        self._fill_removed()
        offset = yield from self._walk()
        if offset != self._half_offset:
            self._update_consume_offset(TRANS_HALF_TOPIC, offset)
            for _ in self._parts.transactions.forget_before(offset):
                yield 0
        op_offset = yield from self._new_op_offset()
        if op_offset != self._op_offset:
            self._update_consume_offset(TRANS_OP_HALF_TOPIC, op_offset)

    def _walk(self) -> Generator[int | Later[PutMessageResult], None, int]:
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
            halves = decode_good_records(found.body)
            if self._escapes and halves:
                if (yield from self._escape(halves[0])):
                    offset += 1
                continue
            step = self._look_at(halves[0]) if halves else _Step.NEXT
            if step is _Step.STOP:
                return offset
            if step is _Step.NEXT:
                offset += 1
            elif step is _Step.SLEEP:
                self._asking.finish()  # the threads that ask do not sleep
                yield sleep_ms
        return offset

    def _escape(self, half: MessageExt) -> Generator[int | Later[PutMessageResult], None, bool]:
        """Let another broker check a half message; return False if it has to be tried again.

        All half messages go, however young. One that was refused eleven times stays behind. Those
        that ended are known by the first ops only: Java reads no more of them here.
        Source: TransactionalMessageServiceImpl.java#check (5.5.0)
        """
        put = self._parts.transactions.escape(half)
        if isinstance(put, Later):
            yield put
            put = put.result()
        if not put.ok:
            if self._escape_failures < MOST_ESCAPE_FAILURES:
                self._escape_failures += 1
                yield 100 * (2 ^ self._escape_failures)  # the exclusive or that Java's ^ is
                return False
            self._warn_of_passed_over(half, put.why)
        self._escape_failures = 0
        return True

    def _warn_of_passed_over(self, half: MessageExt, why: str) -> None:
        node, topic = self._parts.node, shortened(half.properties.get(REAL_TOPIC, ""))
        text = (
            f"the half message {half.queue_offset} of topic {topic!r} is passed over, as no other"
            f" master has taken it: {why}; nothing checks it while this broker acts as master"
        )
        node.journal.add(Warned(node=node.name, text=text))

    def _look_at(self, half: MessageExt) -> _Step:
        transactions, config = self._parts.transactions, self._parts.node.config
        age_ms = transactions.age_ms(half)
        # Java does both before anything else: so it also counts a check of a half message that is
        # put back as immune.
        if self._need_discard(half) or age_ms > config.file_reserved_time * HOUR_MS:
            transactions.discard(half)
            return _Step.NEXT
        # It was stored during this run, and so was all behind it.
        if half.store_timestamp_ms >= self._start_ms:
            return _Step.STOP
        immunity_ms = config.transaction_time_out
        seconds = half.properties.get(CHECK_IMMUNITY_TIME_IN_SECONDS)
        if seconds is not None:
            immunity_ms = _immunity_ms(seconds, immunity_ms)
        immunity_ms += self._parts.node.reference.immunity_lag_ms
        # 1. An immunity of its own says nothing of those behind: it is put back, and they are next.
        # 2. The usual one is the same for all: those behind are immune, too.
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
        self._ops = decode_good_records(found.body)
        for op in self._ops:
            finished = self._parts.transactions.finished_by(op)
            if finished is None:
                continue
            ahead = {offset for offset in finished if offset >= self._half_offset}
            # All its half messages lie before this run: it will meet none of them.
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

    def _new_op_offset(self) -> Generator[int, None, int]:
        """Return the offset of the first op that is not done."""
        offset = self._op_offset
        for done in sorted(self._done_ops):
            if done != offset:
                break
            offset += 1
            yield 0
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
