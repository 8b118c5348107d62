"""The list of one client: into which lite topics it is to look.

Source: broker/lite/LiteEventDispatcher.java, ClientEventSet (5.5.0)
"""

from __future__ import annotations

from typing import Final

# Source: LiteEventDispatcher.java, constants (5.5.0)
SILENT_WITH_EVENTS_MS: Final = 10_000
SILENT_MS: Final = 35_000
LOW_WATER_MARK: Final = 0.2


class Events:
    """The light queues that one client is to look into, in the order in which they had news."""

    __slots__ = ("accessed_at_ms", "accessed_ms", "group", "most", "outside", "queues")

    def __init__(self, group: str, most: int, *, outside: bool) -> None:
        self.group = group
        self.most = most
        self.outside = outside
        self.queues: dict[str, None] = {}
        self.accessed_ms = 0
        """When its client looked last: elapsed time on the client's axis."""
        self.accessed_at_ms = 0
        """The same as wall time, for tools."""

    def offer(self, queue: str) -> bool:
        """Add an event if it is not there; return False if the list is full."""
        if len(self.queues) >= self.most:
            return False
        self.queues[queue] = None
        return True

    @property
    def is_low(self) -> bool:
        return len(self.queues) / self.most < LOW_WATER_MARK

    @property
    def silent_from_ms(self) -> int:
        """When its client counts as silent if it does not look."""
        return self.accessed_ms + (SILENT_WITH_EVENTS_MS if self.queues else SILENT_MS) + 1
