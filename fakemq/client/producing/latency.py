"""Avoids brokers that failed or were slow.

Source: client/latency/MQFaultStrategy.java, LatencyFaultToleranceImpl.java (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fakemq.client.queue_choice import InTurn, QueueChoice
from fakemq.protocol.bodies.queue import MessageQueue

FAILED_LATENCY_MS = 30_000
"""What a failed send counts as, however fast it failed."""


class _BrokerFault(NamedTuple):
    latency_ms: int
    available_at_ms: int


class LatencyFaultTolerance:
    """How fast each broker was, and from when on it is used again.

    ``now_ms`` returns elapsed time. Differs: Java uses wall time, which may be set back.

    Source: client/latency/LatencyFaultToleranceImpl.java (4.9.7)
    """

    def __init__(self, now_ms: Callable[[], int], worst: QueueChoice) -> None:
        self.now_ms = now_ms
        self._worst = worst
        self._faults: dict[str, _BrokerFault] = {}

    def update(self, broker_name: str, latency_ms: int, not_available_ms: int) -> None:
        """Take note of a broker's latency, and avoid the broker for some time."""
        self._faults[broker_name] = _BrokerFault(latency_ms, self.now_ms() + not_available_ms)

    def is_available(self, broker_name: str) -> bool:
        """Return whether a broker is not to be avoided now."""
        fault = self._faults.get(broker_name)
        return fault is None or self.now_ms() >= fault.available_at_ms

    def remove(self, broker_name: str | None) -> None:
        """Forget a broker."""
        self._faults.pop(broker_name or "", None)

    def pick_one_at_least(self) -> str | None:
        """Return one of the better half of the known brokers; None if none is known.

        Brokers that are available come first, then those with less latency. The better half is
        taken in turn.
        """
        if not self._faults:
            return None
        now_ms = self.now_ms()

        def badness(name: str) -> tuple[bool, _BrokerFault]:
            fault = self._faults[name]
            return now_ms < fault.available_at_ms, fault

        ranked = sorted(self._faults, key=badness)
        half = len(ranked) // 2
        return ranked[self._worst.next() % half] if half else ranked[0]


class ByLatency:
    """Chooses queues of available brokers in turn, or of one of the better brokers if none is.

    Source: client/latency/MQFaultStrategy.java (4.9.7)
    """

    def __init__(
        self,
        in_turn: InTurn,
        tolerance: LatencyFaultTolerance,
        latency_max_ms: Sequence[int],
        not_available_duration_ms: Sequence[int],
    ) -> None:
        self._in_turn = in_turn
        self._tolerance = tolerance
        self._steps = tuple(zip(latency_max_ms, not_available_duration_ms, strict=True))[::-1]

    def choose(
        self, topic: str, queues: Sequence[MessageQueue], failed_broker: str | None
    ) -> MessageQueue:
        """Return a queue; a broker that failed is not available, so it need not be skipped.

        Differs: where no broker is available Java overwrites a queue of the route that it shares
        with all senders. Here the route stays as it is.
        """
        turn = self._in_turn.turn(topic)
        tolerance = self._tolerance
        first = turn.next()
        for index in range(first, first + len(queues)):
            queue = queues[index % len(queues)]
            if tolerance.is_available(queue.broker_name or ""):
                return queue
        best = tolerance.pick_one_at_least()
        of_best = [queue for queue in queues if queue.broker_name == best]
        if of_best:
            return of_best[first % len(of_best)]
        tolerance.remove(best)
        return turn.select(queues, None)

    def report(self, broker_name: str, began_ms: int, *, failed: bool) -> None:
        """Avoid a broker that failed or was slow."""
        latency_ms = self._tolerance.now_ms() - began_ms
        counted_ms = FAILED_LATENCY_MS if failed else latency_ms
        self._tolerance.update(broker_name, latency_ms, self.not_available_ms(counted_ms))

    def not_available_ms(self, latency_ms: int) -> int:
        """Return how long a broker with this latency is avoided.

        Source: MQFaultStrategy.java#computeNotAvailableDuration (4.9.7)
        """
        for at_least_ms, duration_ms in self._steps:
            if latency_ms >= at_least_ms:
                return duration_ms
        return 0
