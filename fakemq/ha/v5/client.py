"""A slave's way to its master, as that of 5.5.0.

It differs from that of 4.9.7 in three points: 1. After a lost connection it waits. 2. It closes a
connection on which the master is silent, and connects again at once. 3. A report is due an interval
after the last one, also if that was on an earlier connection.

Source: store/ha/DefaultHAClient.java (5.5.0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.ha.client import PAUSE_MS, HAClient
from fakemq.ha.slave_link import SlaveEnd, SlaveSink

if TYPE_CHECKING:
    from fakemq.ha.node import ReplicatedNode
    from fakemq.net.link import Link


class SlaveEnd5(SlaveEnd):
    """A slave's connection to its master; its last report was at ``last_write_ms``."""

    def __init__(
        self, link: Link, node: ReplicatedNode, sink: SlaveSink, last_write_ms: int
    ) -> None:
        super().__init__(link, node, sink)
        self._last_write_ms = last_write_ms
        self.silent = False
        """Whether it was closed because the master was silent."""
        due_ms = last_write_ms + self._beat_ms
        self._at(
            max(due_ms, self._now_ms()),
            lambda: self._beat_if_due(self.connection.report),
            "ha_heartbeat",
            routine=self._move_last_write,
        )
        self._housekeep()

    @property
    def last_write_ms(self) -> int:
        """When it reported last, by the clock of such peers."""
        return self._last_write_ms

    @property
    def last_read_ms(self) -> int:
        """When the master sent something last, by the same clock."""
        return self._last_read_ms

    def _receive(self, data: bytes) -> None:
        self._last_read_ms = self._now_ms()
        super()._receive(data)

    def _housekeep(self) -> None:
        interval_ms = self._node.config.ha_housekeeping_interval
        self.silent = self._now_ms() - self._last_read_ms > interval_ms
        super()._housekeep()


class HAClient5(HAClient):
    """One slave's connection to its master's HA port."""

    def __init__(self, node: ReplicatedNode, appended: Callable[[], None]) -> None:
        super().__init__(node, appended)
        clock = node.clock
        self._wrote_ms = {outside: clock.elapsed_ms(outside=outside) for outside in (False, True)}
        """Whether the master is outside → when the last report was, or this was made."""

    def _make_end(self, link: Link) -> SlaveEnd:
        return SlaveEnd5(link, self._node, self, self._wrote_ms[link.outside])

    def _next_try_ms(self, lost: SlaveEnd | None) -> int:
        if isinstance(lost, SlaveEnd5):
            self._wrote_ms[lost.outside] = lost.last_write_ms
            if lost.silent:
                return self._now_ms()
        return self._now_ms() + PAUSE_MS
