"""What a task reports to the driver when all its rows are written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pyspark.sql.datasource import WriterCommitMessage

from fakemq.client.messages import SendResult, SendStatus

QueueName = tuple[str, str, int]
"""Topic, broker, queue id."""


class Written(WriterCommitMessage):
    """How much was written, to which queues, and with which send statuses."""

    def __init__(self) -> None:
        self.rows = 0
        self.body_bytes = 0
        """The size of the values; more bytes go over the network."""
        self.delayed = 0
        """Rows with a delay level: they have no offset in their queue yet."""
        self.offsets: dict[QueueName, tuple[int, int]] = {}
        """Queue → first and last offset; others may have written between them."""
        self.statuses: Counter[str] = Counter()
        """Number of rows by the status in the broker's response."""

    def add(self, rows: int, result: SendResult, *, is_delayed: bool) -> None:
        """Count the messages of one request."""
        self.rows += rows
        self.statuses[result.status.name] += rows
        if is_delayed:
            self.delayed += rows
            return
        queue = result.queue
        name = (queue.topic or "", queue.broker_name or "", queue.queue_id)
        self._reach(name, result.queue_offset, result.queue_offset + rows - 1)

    def _reach(self, name: QueueName, first: int, last: int) -> None:
        known_first, known_last = self.offsets.get(name, (first, last))
        self.offsets[name] = (min(first, known_first), max(last, known_last))

    @classmethod
    def total(cls, messages: Iterable[WriterCommitMessage | None]) -> Written:
        """Return the sum of several tasks; a failed task is None and is skipped."""
        total = cls()
        for one in messages:
            if not isinstance(one, Written):
                continue
            total.rows += one.rows
            total.body_bytes += one.body_bytes
            total.delayed += one.delayed
            total.statuses += one.statuses
            for name, (first, last) in one.offsets.items():
                total._reach(name, first, last)
        return total

    @property
    def doubted(self) -> dict[str, int]:
        """Return the rows that are stored less safely than the broker is configured, by status."""
        return {name: n for name, n in self.statuses.items() if name != SendStatus.SEND_OK.name}

    def __str__(self) -> str:
        parts = [f"{self.rows} rows, {self.body_bytes} bytes, {len(self.offsets)} queues"]
        parts += [f"{self.delayed} delayed"] if self.delayed else []
        parts += [f"{count} {name}" for name, count in sorted(self.doubted.items())]
        return ", ".join(parts)
