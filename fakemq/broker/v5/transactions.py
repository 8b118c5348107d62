"""Half messages at a broker of 5.5.0, where it stores and ends them otherwise than 4.9.7.

The ends of transactions are collected: one op names all half messages that ended since the last
one. It is stored transactionOpBatchInterval after the op before it, or as soon as its text is
longer than transactionOpMsgMaxSize. Four things follow from that:
1. A check may ask for a half message whose transaction has just ended.
2. What is collected is in memory only. After a stop or a kill, the broker asks for it again.
3. Java stores the first op of a broker one interval after the first end, and a later one at once if
   the one before it is older than the interval. So it is here.
4. With a transactionOpMsgMaxSize of 0 or less, an op has room for nothing. Ends of a half queue are
   collected until there are 20,000, and from then on each further end is stored at once, alone.

Source: broker/transaction/queue/TransactionalMessageServiceImpl.java#deletePrepareMessage,
#getOpMessage, #batchSendOpMessage, broker/transaction/queue/TransactionalOpBatchService.java,
broker/processor/EndTransactionProcessor.java,
broker/transaction/TransactionalMessageCheckService.java#run (5.5.0)
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from fakemq.broker.sending.transactions import REMOVE_TAG, TransactionalMessageService
from fakemq.config.v5.model import config5
from fakemq.dispatch.answers import NOTHING_SAID, Refused
from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long
from fakemq.protocol.java import int64
from fakemq.protocol.properties import CHECK_IMMUNITY_TIME_IN_SECONDS, REAL_QUEUE_ID, REAL_TOPIC
from fakemq.protocol.topics import TRANS_HALF_TOPIC
from fakemq.protocol.v5.codes import ResponseCode5

if TYPE_CHECKING:
    from fakemq.clock.timers import Timer
    from fakemq.protocol.headers.transaction import EndTransactionRequestHeader
    from fakemq.protocol.message import MessageExt

_SEPARATOR: Final = ","
_MOST_COLLECTED: Final = 20_000
"""The most ends of a half queue that wait for an op."""


class Ended:
    """What ended of one half queue since its last op.

    Source: broker/transaction/queue/MessageQueueOpContext.java (5.5.0)
    """

    def __init__(self, now_ms: int) -> None:
        self.written_ms = now_ms
        """When the last op was stored; at first, when the first transaction ended."""
        self.size = 0
        """The length of the text that the op will have."""
        self._offsets: deque[str] = deque()

    @property
    def is_full(self) -> bool:
        return len(self._offsets) >= _MOST_COLLECTED

    def add(self, half_offset: int) -> None:
        text = _text(half_offset)
        self._offsets.append(text)
        self.size += len(text)

    def take(self, max_size: int, begin: str = "") -> str:
        """Return the text of an op, and forget what it says; "" for none.

        It begins with ``begin``, and is longer than ``max_size`` by less than one offset.
        """
        taken, size = [begin], len(begin)
        while self._offsets and size < max_size:
            taken.append(self._offsets.popleft())
            size += len(taken[-1])
        self.size -= size - len(begin)
        return "".join(taken)


def _text(half_offset: int) -> str:
    return f"{half_offset}{_SEPARATOR}"


class TransactionalMessageService5(TransactionalMessageService):
    """Stores half messages and ops, and starts the checks, as 5.5.0."""

    cleared_from_commits: tuple[str, ...] = (REAL_TOPIC, REAL_QUEUE_ID)
    _ended: dict[int, Ended]
    """By half queue; a broker that starts knows nothing."""
    _op_timer: Timer | None = None

    def start(self) -> None:
        self._forget_ended()
        super().start()

    def _wait(self) -> None:
        """Wait for the next check, as long as transactionCheckInterval says now."""
        self._interval_ms = self._node.config.transaction_check_interval
        super()._wait()

    def _on_wait_end(self) -> None:
        """Begin a check, behind an op that is due now: a check of Java is never that punctual."""
        self._write_due()
        super()._on_wait_end()

    def _forget(self) -> None:
        super()._forget()
        self._forget_ended()

    def _forget_ended(self) -> None:
        self._node.clock.cancel(self._op_timer)
        self._op_timer = None
        self._ended = {}

    def check_end(self, half: MessageExt, header: EndTransactionRequestHeader) -> None:
        """Raise Refused for an end that comes after the immunity time, unless a check asked for it.

        Source: EndTransactionProcessor.java#rejectCommitOrRollback (5.5.0)
        """
        seconds = half.properties.get(CHECK_IMMUNITY_TIME_IN_SECONDS)
        if header.from_transaction_check or not seconds:
            return
        if self.age_ms(half) > max(_immunity_ms(seconds), self._node.config.transaction_time_out):
            raise Refused(ResponseCode5.ILLEGAL_OPERATION, NOTHING_SAID)

    def delete_prepare_message(self, half: MessageExt) -> None:
        """Collect the end of a transaction for the next op of its queue.

        Source: TransactionalMessageServiceImpl.java#deletePrepareMessage (5.5.0)
        """
        if half.topic != TRANS_HALF_TOPIC:
            return
        now_ms = self._node.clock.now_ms()
        if half.queue_id not in self._ended:
            self._ended[half.queue_id] = Ended(now_ms)
        ended = self._ended[half.queue_id]
        if ended.is_full:
            self._write(half.queue_id, ended.take(self._max_size, _text(half.queue_offset)))
        else:
            ended.add(half.queue_offset)
            if ended.size > self._max_size:
                self._write(half.queue_id, ended.take(self._max_size))
        self._write_due()

    def write_ended(self) -> None:
        """Store all that is collected, before its time: an image of the broker has only records."""
        for queue_id, ended in self._ended.items():
            while ended.size:
                self._write(queue_id, ended.take(max(1, self._max_size)))

    def finished_by(self, op: MessageExt) -> list[int]:
        """Source: TransactionalMessageServiceImpl.java#fillOpRemoveMap (5.5.0)"""
        if op.tags != REMOVE_TAG:
            return []
        texts = op.body.decode("utf-8", "replace").rstrip(_SEPARATOR).split(_SEPARATOR)
        return [self._half_offset(text) for text in texts]

    @property
    def _max_size(self) -> int:
        return config5(self._node.config).transaction_op_msg_max_size

    def _write_due(self) -> None:
        """Store the ops whose time has come, and wait for the next if an op has room for it."""
        interval_ms = config5(self._node.config).transaction_op_batch_interval
        now_ms = self._node.clock.now_ms()
        waits_ms = []
        for queue_id, ended in self._ended.items():
            if ended.size and now_ms - ended.written_ms >= interval_ms:
                self._write(queue_id, ended.take(self._max_size))
            if ended.size and self._max_size > 0:
                waits_ms.append(ended.written_ms + interval_ms - now_ms)
        self._node.clock.cancel(self._op_timer)
        self._op_timer = None
        if waits_ms:
            wait_ms = max(1, min(waits_ms))
            self._op_timer = self._node.clock.call_later(
                wait_ms, self._write_due, kind="transaction_ops"
            )

    def _write(self, queue_id: int, text: str) -> None:
        """Store an op with this text, if it says anything; what the store refuses is lost, as in
        Java.
        """
        if text:
            self._ended[queue_id].written_ms = self._node.clock.now_ms()
            self._put_op(queue_id, text)


def _immunity_ms(seconds: str) -> int:
    """Source: broker/transaction/queue/TransactionalMessageUtil.java#getImmunityTime (5.5.0)"""
    try:
        return int64(parse_long(seconds) * 1000)
    except NumberFormatError:
        return 0
