"""The lock of a log while a fault lets one put hold it: the page cache takes no bytes.

Source: store/DefaultMessageStore.java#isOSPageCacheBusy, store/CommitLog.java#getBeginTimeInLock
(4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.config.model import BrokerConfig
    from fakemq.faults.plan import ActiveFault

_LONGEST_MS: Final = 10_000_000
"""A lock that is held this long does not count: for Java it was never taken."""


class HeldLock:
    """A put that has the log's lock since ``since_ms`` of elapsed time, because of ``fault``."""

    def __init__(
        self, config: BrokerConfig, clock: NodeClock, fault: ActiveFault[Any], since_ms: int
    ) -> None:
        self._config = config
        self._clock = clock
        self.fault = fault
        self.since_ms = since_ms

    @property
    def held_ms(self) -> int:
        """How long the put has the lock."""
        return self._clock.elapsed_ms() - self.since_ms

    @property
    def busy_at_ms(self) -> int:
        """The elapsed time at which the page cache begins to count as busy."""
        return self.since_ms + self._config.os_page_cache_busy_time_out_mills + 1

    @property
    def page_cache_busy(self) -> bool:
        """Whether the page cache counts as busy now."""
        return self._config.os_page_cache_busy_time_out_mills < self.held_ms < _LONGEST_MS
