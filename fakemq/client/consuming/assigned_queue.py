"""One queue of a lite pull consumer: its offsets, and the messages that wait for a poll."""

from __future__ import annotations

from fakemq.client.consuming.process_queue import ProcessQueue
from fakemq.client.running_task import RunningTask
from fakemq.client.tasks import Signal
from fakemq.protocol.bodies.queue import MessageQueue


class AssignedQueue:
    """A queue that is pulled from, until it is ``dropped``: then no poll returns its messages.

    Source: client/impl/consumer/AssignedMessageQueue.java (4.9.7)
    """

    __slots__ = (
        "cleared",
        "consume_offset",
        "process_queue",
        "pull_offset",
        "pulling",
        "queue",
        "resumed",
    )

    def __init__(self, queue: MessageQueue, pull_offset: int | None, now_ms: int) -> None:
        self.queue = queue
        self.process_queue = ProcessQueue(queue, 0 if pull_offset is None else pull_offset, now_ms)
        """The messages that wait."""
        self.pull_offset = pull_offset
        """Where the next pull begins; None if it is still to be asked for."""
        self.consume_offset: int | None = None
        """What `commit` commits: the first offset that no poll has returned. None before a poll."""
        self.cleared = 0
        """Counts how often its messages were forgotten, as by a seek."""
        self.pulling: RunningTask[None] | None = None
        self.resumed = Signal()
        """Set unless the queue is paused."""
        self.resumed.set()

    @property
    def dropped(self) -> bool:
        return self.process_queue.dropped

    def __repr__(self) -> str:
        return f"<assigned {self.queue}, pull from {self.pull_offset}, {self.process_queue!r}>"
