"""A Java producer beside a `fakemq.Cluster` whose clock is frozen while a test places faults."""

from __future__ import annotations

import fakemq
from conformance.drivers.drivers import EVENT_TIMEOUT_S, Ack
from conformance.drivers.java_program import JavaProducer
from fakemq.events import AppendRefused, LogAppended

FAILED = "failed"


class Sender:
    """Sends of a Java producer, and how each ended: its status, or ``failed``."""

    def __init__(self, mq: fakemq.Cluster, producer: JavaProducer) -> None:
        self._mq = mq
        self._producer = producer

    def send(self, id: str, advance: str = "0s") -> str:
        """Send, let the cluster's time pass once the broker has it, and say how it ended."""
        ended = self._begin(id)
        if not ended:
            self._mq.clock.advance(advance)
        return self._end(id)

    def place(self, id: str) -> int:
        """Return the queue offset in the acknowledgement of a message."""
        return next(ack.queue_offset for ack in self._producer.acks if ack.id == id)

    def _begin(self, id: str) -> bool:
        """Send; on return the broker has handled it. Return whether the send has ended."""
        before = self._handled()
        self._producer.say(f"send {id}")
        self._mq.wait_for(
            lambda: self._handled() > before or self._has_ended(id), timeout=EVENT_TIMEOUT_S
        )
        return self._has_ended(id)

    def _end(self, id: str) -> str:
        self._producer.wait_for(lambda: self._has_ended(id), f"the end of send {id}")
        ack = self._ack(id)
        return FAILED if ack is None else ack.status

    def _has_ended(self, id: str) -> bool:
        failed = any(failure.startswith(f"{id} ") for failure in self._producer.failures)
        return failed or self._ack(id) is not None

    def _ack(self, id: str) -> Ack | None:
        return next((ack for ack in self._producer.acks if ack.id == id), None)

    def _handled(self) -> int:
        journal = self._mq.journal
        return len(journal.find(LogAppended)) + len(journal.find(AppendRefused))
