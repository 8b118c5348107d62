"""The messages of one queue that a consumer has pulled and not yet finished.

Source: client/impl/consumer/ProcessQueue.java (4.9.7)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Signal
from fakemq.protocol.bodies.queue import MessageQueue

LOCK_MAX_LIVE_MS = 30_000
"""How long a lock counts without being renewed. Source: ProcessQueue.java#isLockExpired (4.9.7)"""

PULL_MAX_IDLE_MS = 120_000
"""Source: ProcessQueue.java#isPullExpired (4.9.7)"""


class ProcessQueue:
    """What a consumer knows of one of its queues.

    Once ``dropped`` it stays so: its messages are neither consumed nor committed any more, and a
    queue that is taken again gets a new one. Times are the carrier's elapsed milliseconds.
    """

    __slots__ = (
        "_consuming",
        "_messages",
        "_offsets",
        "behind",
        "dropped",
        "is_dispatched",
        "last_consume_ms",
        "last_lock_ms",
        "last_pull_ms",
        "locked",
        "next_offset",
        "not_performing",
        "pulling",
        "queue",
        "queue_offset_max",
        "size_bytes",
        "try_unlock_times",
        "was_locked",
    )

    def __init__(self, queue: MessageQueue, next_offset: int, now_ms: int) -> None:
        self.queue = queue
        self.next_offset = next_offset
        """Where the next pull begins."""
        self.dropped = False
        self.last_pull_ms = self.last_consume_ms = self.last_lock_ms = now_ms
        self.locked = False
        self.was_locked = False
        """Whether an ordered queue has been pulled from since it was locked."""
        self.try_unlock_times = 0
        self.queue_offset_max = 0
        self.size_bytes = 0
        """The bodies of all messages here."""
        self.behind = 0
        """How many messages the broker had behind the last one pulled."""
        self.is_dispatched = False
        """Whether the messages of an ordered queue are being consumed, or wait for it."""
        self.not_performing = Signal()
        """Set while no listener has a message of this queue. Only kept for ordered queues."""
        self.not_performing.set()
        self.pulling: RunningTask[None] | None = None
        self._messages: dict[int, ReceivedMessage] = {}
        # The offsets of messages in order. Those that are gone from `_messages` are removed when
        # they come to an end, so that removing a message costs one operation of a dict.
        self._offsets: deque[int] = deque()
        # Of an ordered queue: messages that were taken and not committed, by offset.
        self._consuming: dict[int, ReceivedMessage] = {}

    # -- what is here ---------------------------------------------------------

    def __len__(self) -> int:
        """Return how many messages are here, those that are consumed now included."""
        return len(self._messages) + len(self._consuming)

    @property
    def waiting(self) -> int:
        """How many messages are here, without those that were taken."""
        return len(self._messages)

    def first_offset(self) -> int | None:
        """Return the lowest offset that was not taken; None if there is none."""
        offsets, messages = self._offsets, self._messages
        while offsets and offsets[0] not in messages:
            offsets.popleft()
        return offsets[0] if offsets else None

    def last_offset(self) -> int | None:
        """Return the highest offset that was not taken; None if there is none."""
        offsets, messages = self._offsets, self._messages
        while offsets and offsets[-1] not in messages:
            offsets.pop()
        return offsets[-1] if offsets else None

    def first(self) -> ReceivedMessage | None:
        """Return the message of the lowest offset that was not taken."""
        offset = self.first_offset()
        return None if offset is None else self._messages[offset]

    def taken_range(self) -> tuple[int, int] | None:
        """Return the lowest and highest offset that was taken; None if there is none."""
        return (min(self._consuming), max(self._consuming)) if self._consuming else None

    @property
    def taken(self) -> int:
        """How many messages were taken and are not committed."""
        return len(self._consuming)

    def max_span(self) -> int:
        """Return how far the first and last message lie apart."""
        first, last = self.first_offset(), self.last_offset()
        return 0 if first is None or last is None else last - first

    # -- all consumers --------------------------------------------------------

    def put(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """Add pulled messages; return those that were not here.

        Differs: Java consumes a message twice if a broker sends it again while it is here.
        """
        added = []
        here, taken = self._messages, self._consuming
        for message in messages:
            offset = message.queue_offset
            if offset in here or offset in taken:
                continue
            self._insert(offset, message)
            self.queue_offset_max = offset
            self.size_bytes += len(message.body)
            added.append(message)
        if messages:
            last = messages[-1]
            behind = last.max_offset - last.queue_offset
            if behind > 0:
                self.behind = behind
        return added

    def _insert(self, offset: int, message: ReceivedMessage) -> None:
        offsets, here = self._offsets, self._messages
        here[offset] = message
        if not offsets or offset > offsets[-1]:
            offsets.append(offset)
        elif offset < offsets[0]:
            offsets.appendleft(offset)
        else:  # in between, perhaps where it was before
            self._offsets = deque(sorted(here))

    def remove(self, messages: Iterable[ReceivedMessage], now_ms: int) -> int | None:
        """Remove finished messages; return the offset to commit, None if nothing was here.

        That is the lowest offset still here, so a slow message holds back all behind it.

        Source: ProcessQueue.java#removeMessage (4.9.7)
        """
        self.last_consume_ms = now_ms
        here = self._messages
        if not here:
            return None
        for message in messages:
            if here.pop(message.queue_offset, None) is not None:
                self.size_bytes -= len(message.body)
        # Nothing is left: all that was pulled is done.
        first = self.first_offset()
        return self.queue_offset_max + 1 if first is None else first

    def clear(self) -> None:
        """Forget all messages."""
        self._messages.clear()
        self._offsets.clear()
        self._consuming.clear()
        self.size_bytes = self.queue_offset_max = 0

    # -- ordered queues -------------------------------------------------------

    def peek(self, at_most: int) -> list[ReceivedMessage]:
        """Return the first messages that were not taken, in order."""
        self.first_offset()
        found: list[ReceivedMessage] = []
        for offset in self._offsets:
            message = self._messages.get(offset)
            if message is not None:
                found.append(message)
                if len(found) == at_most:
                    break
        return found

    def take(self, messages: Iterable[ReceivedMessage], now_ms: int) -> None:
        """Take messages: a `commit` or `rollback` decides on them.

        Source: ProcessQueue.java#takeMessages (4.9.7)
        """
        self.last_consume_ms = now_ms
        for message in messages:
            if self._messages.pop(message.queue_offset, None) is not None:
                self._consuming[message.queue_offset] = message

    def commit(self) -> int | None:
        """Forget the taken messages; return the offset behind the last one, None without any."""
        if not self._consuming:
            return None
        offset = max(self._consuming)
        self.size_bytes -= sum(len(message.body) for message in self._consuming.values())
        self._consuming.clear()
        return offset + 1

    def rollback(self) -> None:
        """Put all taken messages back, to be consumed again."""
        # From the last one on: at most the first insertion then sorts all offsets.
        taken = sorted(self._consuming.values(), key=_offset, reverse=True)
        self._consuming.clear()
        for message in taken:
            self._insert(message.queue_offset, message)

    def consume_again(self, messages: Sequence[ReceivedMessage]) -> None:
        """Put some of the taken messages back.

        Source: ProcessQueue.java#makeMessageToConsumeAgain (4.9.7)
        """
        for message in sorted(messages, key=_offset, reverse=True):
            if self._consuming.pop(message.queue_offset, None) is not None:
                self._insert(message.queue_offset, message)

    # -- times ----------------------------------------------------------------

    def is_lock_expired(self, now_ms: int) -> bool:
        return now_ms - self.last_lock_ms > LOCK_MAX_LIVE_MS

    def is_pull_expired(self, now_ms: int) -> bool:
        return now_ms - self.last_pull_ms > PULL_MAX_IDLE_MS

    def __repr__(self) -> str:
        state = ", dropped" if self.dropped else ""
        return f"<process queue of {self.queue}, {len(self)} messages{state}>"


def _offset(message: ReceivedMessage) -> int:
    return message.queue_offset
