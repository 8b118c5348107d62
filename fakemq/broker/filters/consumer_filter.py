"""The filter of one consumer group for one topic, alive or dead.

Source: broker/filter/ConsumerFilterData.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.broker.filters.sql_expressions import Expression
    from fakemq.clock.node_clock import NodeClock
    from fakemq.protocol.bodies.filter import ConsumerFilterData


class ConsumerFilter:
    """The filter of one group for one topic.

    ``died_ms`` is the elapsed time at which its group lost it; None while it is alive.
    """

    __slots__ = ("data", "died_ms", "expression")

    def __init__(self, data: ConsumerFilterData, expression: Expression) -> None:
        self.data = data
        self.expression = expression
        self.died_ms: int | None = None

    def die(self, clock: NodeClock, ago_ms: int = 0) -> None:
        """Count it as dead since ``ago_ms``, but not since before it was born."""
        data, now_ms = self.data, clock.now_ms()
        data.dead_time = max(data.born_time, now_ms - ago_ms)
        data.dead = True
        self.died_ms = clock.elapsed_ms() - (now_ms - data.dead_time)

    def revive(self) -> None:
        """Count it as alive."""
        self.died_ms = None
        self.data.dead_time = 0
        self.data.dead = False

    def is_dead_for(self, span_ms: int, now_ms: int) -> bool:
        """Return whether it has been dead for a time, at an elapsed time."""
        return self.died_ms is not None and now_ms - self.died_ms >= span_ms

    def __repr__(self) -> str:
        data = self.data
        state = "" if self.died_ms is None else ", dead"
        return f"<filter of {data.consumer_group} for {data.topic}: {data.expression}{state}>"
