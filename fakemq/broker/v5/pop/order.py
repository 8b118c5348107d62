"""What each group has in order: which messages are out, until when, and how often they were.

Times are wall times in milliseconds, handed in by the caller.

Source: broker/v5/pop/orderly/QueueLevelConsumerManager.java (5.5.0)
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Final

from fakemq.broker.popped import OutMessage
from fakemq.clock.slices import in_one_step
from fakemq.protocol.bodies.pop import ConsumerOrderInfoTable, OrderInfo
from fakemq.protocol.java import int64
from fakemq.protocol.pop import offset_order_count, queue_order_count

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from fakemq.clock.slices import Steps
    from fakemq.protocol.bodies.topic import TopicConfig

ILLEGAL: Final = -1
"""The acknowledged offset is not one of those that are out."""
NO_COMMIT: Final = -2
"""There is nothing to commit: the acknowledgement is of an earlier pop."""

CLEAN_SPAN_FROM_LAST_MS: Final = 24 * 3600 * 1000
_LONG_BITS: Final = 64
"""Java shifts a long by the index modulo this."""


class OrderTable:
    """The messages that are out in order at one broker, by ``topic@group`` and queue id."""

    def __init__(self) -> None:
        self.table: dict[str, dict[int, OrderInfo]] = {}

    def find(self, topic: str, group: str, queue_id: int) -> OrderInfo | None:
        return self.table.get(_key(topic, group), {}).get(queue_id)

    def update(
        self,
        attempt_id: str | None,
        topic: str,
        group: str,
        queue_id: int,
        *,
        pop_time_ms: int,
        invisible_time_ms: int,
        offsets: Sequence[int],
        now_ms: int,
    ) -> list[str]:
        """Note that a pop returned these messages; return its entries of orderCountInfo.

        Source: QueueLevelConsumerManager.java#update (5.5.0)
        """
        first = offsets[0]
        info = OrderInfo(
            pop_time=pop_time_ms,
            invisible_time=invisible_time_ms,
            offset_list=[first, *(offset - first for offset in offsets[1:])],
            last_consume_timestamp=now_ms,
            attempt_id=attempt_id,
        )
        queues = self.table.setdefault(_key(topic, group), {})
        before = queues.get(queue_id)
        if before is not None:
            info.offset_consumed_count = _consumed_counts(before, info)
        queues[queue_id] = info
        counts = info.offset_consumed_count or {}
        entries = [
            offset_order_count(topic, queue_id, offset, count) for offset, count in counts.items()
        ]
        # Only counts above 0 are kept: with fewer than there are messages, some message is new.
        least = min(counts.values()) if counts and len(counts) == len(offsets) else 0
        return [*entries, queue_order_count(topic, queue_id, least)]

    def is_blocked(
        self,
        attempt_id: str | None,
        topic: str,
        group: str,
        queue_id: int,
        invisible_time_ms: int,
        now_ms: int,
    ) -> bool:
        """Return whether messages of the queue are out, and not for this same attempt.

        Source: QueueLevelConsumerManager.java, OrderInfo#needBlock (5.5.0)
        """
        info = self.find(topic, group, queue_id)
        if info is None or (info.attempt_id is not None and info.attempt_id == attempt_id):
            return False
        if info.invisible_time is None or info.invisible_time <= 0:
            info.invisible_time = invisible_time_ms
        return any(now_ms < at_ms for at_ms in _visible_times(info))

    def commit_and_next(
        self, topic: str, group: str, queue_id: int, queue_offset: int, pop_time_ms: int
    ) -> int:
        """Note an acknowledgement; return the offset to commit, `ILLEGAL` or `NO_COMMIT`.

        Source: QueueLevelConsumerManager.java#commitAndNext (5.5.0)
        """
        info = self.find(topic, group, queue_id)
        # There are four cases, as in Java:
        # 1. Nothing is known of the queue, as after a kill: the offset is committed as if no other
        # message was out. Java logs a warning.
        if info is None:
            return queue_offset + 1
        # 2. A damaged file: which message is meant cannot be said.
        if not info.offset_list:
            return ILLEGAL
        # 3. Another pop has taken from the queue since: its acknowledgements count alone.
        if pop_time_ms != info.pop_time:
            return NO_COMMIT
        offsets = _offsets(info)
        if queue_offset not in offsets:
            return ILLEGAL
        # 4. The message is out for this pop. Java shifts a long, so 64 messages further the same
        # bit stands for two of them.
        bit = 1 << offsets.index(queue_offset) % _LONG_BITS
        info.commit_offset_bit = int64(info.commit_offset_bit | bit)
        unacked = next(_unacked(info), None)
        return offsets[-1] + 1 if unacked is None else unacked

    def is_out(
        self, topic: str, group: str, queue_id: int, queue_offset: int, pop_time_ms: int
    ) -> bool:
        """Return whether a message is out for this pop; True if nothing is known of its queue."""
        info = self.find(topic, group, queue_id)
        if info is None:
            return True
        return info.pop_time == pop_time_ms and queue_offset in _unacked(info)

    def update_next_visible_time(
        self,
        topic: str,
        group: str,
        queue_id: int,
        queue_offset: int,
        *,
        pop_time_ms: int,
        visible_at_ms: int,
    ) -> None:
        """Change when one message of a pop becomes visible; ignore it for another pop.

        Source: QueueLevelConsumerManager.java#updateNextVisibleTime (5.5.0)
        """
        info = self.find(topic, group, queue_id)
        if info is None or pop_time_ms != info.pop_time:
            return
        if info.offset_next_visible_time is None:
            info.offset_next_visible_time = {}
        # Others than those that are out never count, and would only take memory.
        if queue_offset in _offsets(info):
            info.offset_next_visible_time[queue_offset] = visible_at_ms

    def free_at_ms(self, topic: str, group: str, queue_id: int, now_ms: int) -> int | None:
        """Return when the next message of a queue becomes visible: ``now_ms`` if none is out.

        None if nothing is known of the queue.

        Source: QueueLevelConsumerManager.java, OrderInfo#getLockFreeTimestamp (5.5.0)
        """
        info = self.find(topic, group, queue_id)
        if info is None or not info.offset_list:
            return None
        if any(True for _ in _unacked(info)) and (info.invisible_time or 0) <= 0:
            return None
        return next((at_ms for at_ms in _visible_times(info) if now_ms < at_ms), now_ms)

    def all_free_at_ms(self, topic: str, group: str, queue_id: int, now_ms: int) -> int | None:
        """Return when all messages of a queue are visible: ``now_ms`` if none is out.

        None if nothing is known of the queue.

        Source: QueueLevelConsumerManager.java, OrderInfo#getMaxLockFreeTimestamp (5.5.0)
        """
        if self.free_at_ms(topic, group, queue_id, now_ms) is None:
            return None
        info = self.find(topic, group, queue_id)
        assert info is not None
        return max((now_ms, *_visible_times(info)))

    def suspend(
        self, topic: str, group: str, queue_id: int, *, pop_time_ms: int, visible_at_ms: int
    ) -> None:
        """Let all messages of a pop be visible at a time, and the pop not count as an attempt.

        Source: broker/offset/MemoryConsumerOrderInfoManager.java#suspendQueue (5.5.0)
        """
        info = self.find(topic, group, queue_id)
        if info is None or pop_time_ms != info.pop_time:
            return
        counts = info.offset_consumed_count
        if counts is not None:
            info.offset_consumed_count = {
                offset: count - 1 if count > 0 else count for offset, count in counts.items()
            }
        info.offset_next_visible_time = None
        info.invisible_time = visible_at_ms - pop_time_ms

    def out(self, topic: str, group: str, queue_id: int) -> Iterator[tuple[int, int, int]]:
        """Yield the messages of a queue that are not acknowledged.

        For each: its offset, when it becomes visible, and how often it was out before.
        """
        info = self.find(topic, group, queue_id)
        if info is not None:
            counts = info.offset_consumed_count or {}
            for offset, at_ms in zip(_unacked(info), _visible_times(info), strict=True):
                yield offset, at_ms, counts.get(offset, 0)

    def all_out(self, group: str | None) -> Iterator[OutMessage]:
        """Yield the messages that are out, of one group or of all."""
        for topic, one, queue_id in self.queues():
            # A list, because others may acknowledge between two steps.
            for offset, visible_at_ms, count in [*self.out(topic, one, queue_id)]:
                if group in (None, one):
                    yield OutMessage(one, topic, queue_id, offset, visible_at_ms, in_order=count)

    def clear(self, topic: str, group: str, queue_id: int) -> None:
        """Forget a queue, as a reset of its offset asks for."""
        self.table.get(_key(topic, group), {}).pop(queue_id, None)

    def remove(self, topic: str, group: str) -> None:
        """Forget all queues of a topic for a group."""
        self.table.pop(_key(topic, group), None)

    def __len__(self) -> int:
        """Return how many pairs of a topic and a group are known."""
        return len(self.table)

    def queues(self) -> Iterator[tuple[str, str, int]]:
        """Yield topic, group and queue id of every queue that is known."""
        for key, queues in list(self.table.items()):
            topic, _, group = key.rpartition("@")  # names of lite topics may have one
            for queue_id in list(queues):
                yield topic, group, queue_id

    def clean(
        self,
        find_topic: Callable[[str], TopicConfig | None],
        groups: Container[str],
        now_ms: int,
    ) -> Steps[None]:
        """Forget what is gone: topics, groups, queues, and what no client has read for a day.

        Source: QueueLevelConsumerManager.java#autoClean (5.5.0)
        """
        for key in list(self.table):
            parts = key.split("@")
            if len(parts) != 2:
                continue
            yield
            # Others may have removed the queue during the step.
            queues, config = self.table.get(key, {}), find_topic(parts[0])
            if config is None or parts[1] not in groups or not queues:
                self.table.pop(key, None)
                continue
            for queue_id, info in list(queues.items()):
                if (
                    queue_id >= config.read_queue_nums
                    or now_ms - info.last_consume_timestamp > CLEAN_SPAN_FROM_LAST_MS
                ):
                    queues.pop(queue_id, None)

    def persisted(self) -> ConsumerOrderInfoTable:
        """Return the table as consumerOrderInfo.json has it."""
        return ConsumerOrderInfoTable(table=self.table)

    def captured(self) -> Steps[ConsumerOrderInfoTable]:
        """As `persisted` now: what changes between its steps is not in it."""
        table = {
            key: {queue_id: _copied(info) for queue_id, info in queues.items()}
            for key, queues in self.table.items()
        }
        return in_one_step(ConsumerOrderInfoTable(table=table))

    def load(self, saved: ConsumerOrderInfoTable) -> None:
        """Replace the table by that of a file."""
        self.table = {key: dict(queues) for key, queues in saved.table.items()}

    def reset(self) -> None:
        self.table = {}


def _key(topic: str, group: str) -> str:
    return f"{topic}@{group}"


def _copied(info: OrderInfo) -> OrderInfo:
    """Return a copy, with a copy of what `OrderTable` changes in place."""
    times = info.offset_next_visible_time
    found = copy(info)
    found.offset_next_visible_time = None if times is None else dict(times)
    return found


def _offsets(info: OrderInfo) -> list[int]:
    if not info.offset_list:
        return []
    first, *distances = info.offset_list
    return [first, *(first + distance for distance in distances)]


def _unacked(info: OrderInfo) -> Iterator[int]:
    for index, offset in enumerate(_offsets(info)):
        if not info.commit_offset_bit >> index % _LONG_BITS & 1:
            yield offset


def _visible_times(info: OrderInfo) -> Iterator[int]:
    """Yield when each message that is not acknowledged becomes visible."""
    changed = info.offset_next_visible_time or {}
    usual = int64(info.pop_time + (info.invisible_time or 0))
    for offset in _unacked(info):
        yield changed.get(offset, usual)


def _consumed_counts(before: OrderInfo, info: OrderInfo) -> dict[int, int]:
    """Return how often the messages of ``info`` were out before, of those that were.

    The same attempt does not count again.

    Source: QueueLevelConsumerManager.java, OrderInfo#mergeOffsetConsumedCount (5.5.0)
    """
    counts = before.offset_consumed_count or {}
    if before.attempt_id is not None and before.attempt_id == info.attempt_id:
        return counts
    known = set(_offsets(before))
    return {offset: counts.get(offset, 0) + 1 for offset in _offsets(info) if offset in known}
