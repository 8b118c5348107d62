"""A slave's way to its master: connect, and connect again.

Source: store/ha/HAService.java#HAClient (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.clock.timers import next_tick_ms
from fakemq.dispatch.node import NodeState
from fakemq.ha.slave_link import SlaveEnd
from fakemq.store.replica import Replica

if TYPE_CHECKING:
    from fakemq.clock.timers import Timer
    from fakemq.ha.node import ReplicatedNode
    from fakemq.net.link import Link

PAUSE_MS = 5_000
"""After an attempt that failed, or was none for want of an address."""
_ADDRESS_MIN_LENGTH = 6


class HAClient:
    """One slave's connection to its master's HA port, from `start` to `stop`.

    ``appended`` is called when the log has grown.
    """

    def __init__(self, node: ReplicatedNode, appended: Callable[[], None]) -> None:
        self._node = node
        self.replica = Replica(node.store, node.clock, node.journal, node.name, appended)
        self.master_address: str | None = None
        self.end: SlaveEnd | None = None
        self._given = False
        self._running = False
        self._opening = False
        self._tried_ms: dict[bool, int] = {}
        self._timer: Timer | None = None

    def start(self) -> None:
        """Connect to haMasterAddress, if that is set; else wait until a name server says where.

        Source: broker/BrokerController.java#initialize (4.9.7)
        """
        self._running = True
        self._note_try()
        given = self._node.config.ha_master_address
        self._given = given is not None and len(given) >= _ADDRESS_MIN_LENGTH
        if self._given:
            self.master_address = given
            self._connect()

    def stop(self, why: str) -> None:
        """Close the connection and make no other."""
        self._running = False
        self._node.clock.cancel(self._timer)
        self._timer = None
        end, self.end = self.end, None
        if end is not None:
            end.close(why)
        self.replica.close()

    def update_master_address(self, addr: str) -> None:
        """A name server says where the master is; a connection that is there stays.

        It is tried when the pause ends that is for want of an address.
        """
        if self._running and not self._given and addr != self.master_address:
            self.master_address = addr
            now_ms, tried_ms = self._now_ms(), self._tried_ms[self._outside]
            self._wait_until(next_tick_ms(now_ms, tried_ms, PAUSE_MS, PAUSE_MS))

    def sync_now(self) -> None:
        """Connect at once and report at once, where Java takes five seconds for each."""
        if self.end is None:
            self._connect()
        if self.end is not None:
            self.end.report_now()

    def pause(self) -> None:
        if self.end is not None:
            self.end.pause()

    def resume(self) -> None:
        if self.end is not None:
            self.end.resume()

    def connection_closed(self) -> None:
        """The connection is gone: have another, at once unless it was a short one."""
        self.end = None
        self._wait_until(max(self._now_ms(), self._tried_ms[self._outside] + PAUSE_MS))

    # -- inside -------------------------------------------------------------------------------

    @property
    def _outside(self) -> bool:
        addr = self.master_address
        return addr is not None and not self._node.outbound.is_inside(addr)

    def _now_ms(self) -> int:
        return self._node.clock.elapsed_ms(outside=self._outside)

    def _note_try(self) -> None:
        clock = self._node.clock
        self._tried_ms = {outside: clock.elapsed_ms(outside=outside) for outside in (False, True)}

    def _wait_until(self, due_ms: int) -> None:
        if not self._running or self._opening or self.end is not None:
            return
        clock = self._node.clock
        clock.cancel(self._timer)
        self._timer = clock.call_later(
            due_ms - self._now_ms(), self._connect, kind="ha_connect", outside=self._outside
        )

    def _connect(self) -> None:
        self._node.clock.cancel(self._timer)
        self._timer = None
        if self._running and not self._opening and self.master_address is not None:
            self._note_try()
            self._opening = True
            self._node.outbound.dial(self.master_address, self._make, self._opened)

    def _make(self, link: Link) -> SlaveEnd:
        end = SlaveEnd(link, self._node, self)
        if self._node.state is NodeState.PAUSED:
            end.pause()
        return end

    def _opened(self, end: SlaveEnd | None) -> None:
        self._opening = False
        if end is not None and not self._running:
            end.close("no longer wanted")
        elif end is not None and not end.closed:
            self.end = end
        else:
            self._note_try()
            self._wait_until(self._now_ms() + PAUSE_MS)
