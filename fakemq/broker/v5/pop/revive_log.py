"""The records of POP: checkpoints of pops and acknowledgements, as messages of the revive topic.

They are timer messages: a broker with timers keeps each until shortly before its messages become
visible.

Source: broker/processor/PopMessageProcessor.java#buildCkMsg, AckMessageProcessor.java#appendAck
(5.5.0)
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from fakemq.broker import addresses
from fakemq.broker.v5.pop.records import (
    ack_json,
    ack_key,
    checkpoint_json,
    checkpoint_key,
    properties_text,
)
from fakemq.config.v5.model import config5
from fakemq.protocol.bodies.pop import BatchAckMsg
from fakemq.protocol.pop import ACK_TAG, BATCH_ACK_TAG, CK_TAG, revive_topic
from fakemq.protocol.properties import TAGS, TIMER_DELIVER_MS, UNIQ_CLIENT_MESSAGE_ID_KEYIDX
from fakemq.store.inner_message import InnerMessage, inner_message
from fakemq.store.puts import put_ended
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.timers import Timer
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.later import Later
    from fakemq.protocol.bodies.pop import AckMsg, PopCheckPoint
    from fakemq.store.puts import PutMessageResult
    from fakemq.store.store import StoreRole

ACK_TIME_INTERVAL_MS: Final = 1_000
"""How much earlier than its acknowledgements a checkpoint is delivered."""

RETRY_MS: Final = 1_000
"""How often it is tried to store a checkpoint that the store refused. Java: every 5 ms."""

STORED: Final = (
    PutMessageStatus.PUT_OK,
    PutMessageStatus.FLUSH_DISK_TIMEOUT,
    PutMessageStatus.FLUSH_SLAVE_TIMEOUT,
    PutMessageStatus.SLAVE_NOT_AVAILABLE,
)


class Begun:
    """A put that waits for another broker; for what does not wait it is stored."""

    __slots__ = ("put",)
    status: Final = PutMessageStatus.PUT_OK

    def __init__(self, put: Later[PutMessageResult]) -> None:
        self.put = put


class ReviveLog:
    """Writes the records of one broker.

    Differs: a record for a queue that the revive topic does not have is dropped. Java makes such a
    queue, for whatever number a handle has, and reads it never.

    A checkpoint of messages that are out already is put again until the store takes it, and before
    any other record. While the broker runs none is lost; Java does so for those of pops only.
    Source: broker/processor/PopBufferMergeService.java#scan (5.5.0)
    """

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        role: StoreRole,
        *,
        put: Callable[[InnerMessage], PutMessageResult | Begun],
    ) -> None:
        self._node = node
        self._settings = config5(node.config)
        self._role = role
        self._put = put
        self.queues = 0
        """How many revive queues are read: reviveQueueNum at the start."""
        self.topic = revive_topic(node.config.broker_cluster_name)
        self._refused: deque[tuple[PopCheckPoint, int, Callable[[], None]]] = deque()
        self._timer: Timer | None = None
        self._life = 0
        """Counts the stops: what was begun before the last one is over."""
        self.written: PopCheckPoint | AckMsg | None = None
        """The record whose put is under way: its reader need not decode it."""
        self.ended: list[int] = []
        """The queue offsets that are no longer out because of that record; its reader adds them."""

    def stop(self) -> None:
        """Forget what the store refused: it is popped, or read from the revive topic, again."""
        self._node.clock.cancel(self._timer)
        self._timer = None
        self._refused.clear()
        self._life += 1

    @property
    def refused(self) -> list[PopCheckPoint]:
        """The checkpoints that the store has not taken yet."""
        return [ck for ck, _, _ in self._refused]

    def keep_checkpoint(
        self, ck: PopCheckPoint, revive_queue_id: int, stored: Callable[[], None]
    ) -> bool:
        """Store a checkpoint now, or later; return whether it is stored now.

        ``stored`` is called when that was later. A slave stores none, now or later.
        """
        if self._role.is_slave:
            return False
        if self._put_refused() and self._put_checkpoint(ck, revive_queue_id).status in STORED:
            return True
        self._keep_refused(ck, revive_queue_id, stored)
        return False

    def _keep_refused(
        self, ck: PopCheckPoint, revive_queue_id: int, stored: Callable[[], None]
    ) -> None:
        self._refused.append((ck, revive_queue_id, stored))
        self._wait()

    def _put_refused(self) -> bool:
        """Put what the store refused; return whether it has taken all."""
        while self._refused:
            ck, revive_queue_id, stored = self._refused[0]
            if self._put_checkpoint(ck, revive_queue_id).status not in STORED:
                return False
            self._refused.popleft()
            stored()
        return True

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self._node.clock.call_later(RETRY_MS, self._retry, kind="disk_retry")

    def _retry(self) -> None:
        self._timer = None
        if not self._put_refused():
            self._wait()

    def put_checkpoint(self, ck: PopCheckPoint, revive_queue_id: int) -> bool | Later[bool]:
        """Store a checkpoint; return False if the store refuses it.

        As a timer message in Java, it is refused if it comes later than timerMaxDelaySec allows.
        Source: broker/util/HookUtils.java#transformTimerMessage (5.5.0)
        """
        if self._comes_too_late(ck):
            return False
        return self._put_refused() and self._put_checkpoint(ck, revive_queue_id).status in STORED

    def _comes_too_late(self, ck: PopCheckPoint) -> bool:
        most_ms = self._settings.timer_max_delay_sec * 1000
        return ck.revive_time - ACK_TIME_INTERVAL_MS - self._node.clock.now_ms() > most_ms

    def _put_checkpoint(self, ck: PopCheckPoint, revive_queue_id: int) -> PutMessageResult | Begun:
        key, deliver_at_ms = checkpoint_key(ck), ck.revive_time - ACK_TIME_INTERVAL_MS
        return self._store(ck, checkpoint_json(ck), revive_queue_id, CK_TAG, key, deliver_at_ms)

    def put_ack(self, ack: AckMsg, revive_queue_id: int, visible_at_ms: int) -> list[int] | None:
        """Store an acknowledgement of messages that would become visible at ``visible_at_ms``.

        Return the queue offsets of those that were out for it, and no longer are; None if the store
        refuses it.
        """
        if not self._put_refused():
            return None
        self.ended = []
        tag = BATCH_ACK_TAG if isinstance(ack, BatchAckMsg) else ACK_TAG
        key = ack_key(ack)  # Java makes for a batch the key of a single acknowledgement, too
        stored = self._store(ack, ack_json(ack), revive_queue_id, tag, key, visible_at_ms)
        return self.ended if stored.status in STORED else None

    def _store(
        self,
        record: PopCheckPoint | AckMsg,
        body: bytes,
        queue_id: int,
        tag: str,
        unique_key: str,
        deliver_at_ms: int,
    ) -> PutMessageResult | Begun:
        if not 0 <= queue_id < max(self.queues, self._settings.revive_queue_num):
            return put_ended(PutMessageStatus.PUT_OK)
        host = addresses.store_host(self._node.config)
        deliver_at = str(deliver_at_ms)
        message = inner_message(
            self.topic,
            queue_id,
            body,
            properties={
                TAGS: tag,
                TIMER_DELIVER_MS: deliver_at,
                UNIQ_CLIENT_MESSAGE_ID_KEYIDX: unique_key,
            },
            properties_string=properties_text(tag, deliver_at, unique_key),
            born_timestamp_ms=self._node.clock.now_ms(),
            born_host=host,
            store_host=host,
        )
        self.written = record
        try:
            return self._put(message)
        finally:
            self.written = None
