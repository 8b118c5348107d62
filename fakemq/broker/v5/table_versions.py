"""Versions of the tables that have none in 4.9.7: a slave of 5.5.0 takes them from its master.

Differs: they begin with each start, where Java keeps them in the files of the tables, and commits
and deliveries do not count. Nothing but a slave looks at them.
"""

from __future__ import annotations

from fakemq.protocol.v5.bodies.version import DataVersion5


class TableVersions:
    """The versions of one broker's tables, each from its start or its master."""

    def __init__(self, now_ms: int) -> None:
        self.start(now_ms)

    def start(self, now_ms: int) -> None:
        """Begin all of them now."""
        self.offsets = self.delays = self.mappings = DataVersion5(timestamp=now_ms)
