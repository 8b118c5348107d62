"""How far groups are behind in their lite topics.

Source: broker/metrics/LiteConsumerLagCalculator.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.config.v5.model import BrokerConfig5


class LiteLags:
    """The store time of the next message of lite topics that a pop has not emptied.

    With liteLagLatencyCollectEnable only, by group; for each the oldest liteLagLatencyTopK.
    """

    def __init__(self, config: BrokerConfig5) -> None:
        self._config = config
        self._by_group: dict[tuple[str, str], dict[str, int]] = {}

    def popped(self, group: str, topic: str, queue: str, next_stored_ms: int | None) -> None:
        """Note what a pop has left of a light queue; None if it was not full.

        Source: broker/processor/PopLiteMessageProcessor.java#collectLiteConsumerLagMetrics (5.5.0)
        """
        if not self._config.lite_lag_latency_collect_enable:
            return
        lags = self._by_group.setdefault((topic, group), {})
        lags.pop(queue, None)
        if next_stored_ms is not None and next_stored_ms > 0:
            lags[queue] = next_stored_ms
            if len(lags) > self._config.lite_lag_latency_top_k:
                del lags[max(lags, key=lambda one: lags[one])]
        if not lags:
            del self._by_group[topic, group]

    def oldest(self, group: str, topic: str) -> list[tuple[str, int]]:
        """Return light queues and the store times of their next messages, the oldest first."""
        lags = self._by_group.get((topic, group), {})
        return sorted(lags.items(), key=lambda one: one[1])

    def clear(self) -> None:
        """Forget all."""
        self._by_group.clear()
