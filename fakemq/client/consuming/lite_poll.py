"""One poll of a lite pull consumer, whose messages are not lost if its caller is cancelled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.client.consuming.read_ahead import PolledBatch, ReadAhead
from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.tasks import Task, Wait

if TYPE_CHECKING:
    from fakemq.client.carrier import Carrier


class LitePoll:
    """One poll: carry `task`, and call `put_back` if its result has not reached the caller.

    A call can be cancelled in the moment in which its messages come. Without `put_back` they would
    count as consumed, and a later poll would commit them.
    """

    def __init__(
        self, reading: ReadAhead, carrier: Carrier, begin: Callable[[], None], timeout_ms: int
    ) -> None:
        """``begin`` is called first; it raises unless the consumer runs."""
        self._reading = reading
        self._carrier = carrier
        self._begin = begin
        self._timeout_ms = timeout_ms
        self._batch: PolledBatch | None = None

    def task(self) -> Task[list[ReceivedMessage]]:
        """Return the messages of one pull; wait for them, and return none after the time-out."""
        self._begin()
        reading, elapsed_ms = self._reading, self._carrier.elapsed_ms
        until_ms = elapsed_ms() + self._timeout_ms
        while (batch := reading.take()) is None:
            left_ms = until_ms - elapsed_ms()
            if left_ms <= 0 or reading.is_over:
                return []
            reading.arrived.clear()
            yield Wait(reading.arrived, left_ms, "client_poll")
        self._batch = batch
        return batch.messages

    @property
    def is_valid(self) -> bool:
        """Whether what it returned is still to be consumed here.

        It is not after a seek in its queue, nor when the consumer has lost the queue or ended.
        """
        return self._batch is None or self._batch.is_valid

    def put_back(self) -> None:
        """Let the next poll return the messages; do nothing if there are none, or twice.

        Call it on the thread of the carrier. A queue that was dropped meanwhile, or that reads at
        another offset after a seek, does not take them back.
        """
        batch, self._batch = self._batch, None
        if batch is not None:
            self._reading.put_back(batch)
