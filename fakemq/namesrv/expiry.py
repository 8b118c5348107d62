"""Expiry of silent brokers, 120 to 130 s after their last registration; at 5.5.0 to 125 s, or
after a time that the broker has said.

Java scans all brokers every 10 s, or as scanNotActiveBrokerInterval says, first after 5 s. Here
each live broker has one timer, due at the tick of that grid at which the scan would find it. A
registration that moves the deadline on leaves the timer, which compares when it fires. So an idle
name server has no work.

Source: namesrv/NamesrvController.java#initialize,
namesrv/routeinfo/RouteInfoManager.java#scanNotActiveBroker (4.9.7)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.clock.node_clock import NodeClock
from fakemq.clock.timers import Timer, next_tick_ms
from fakemq.namesrv.route_tables import BrokerLiveInfo
from fakemq.protocol.java import int64

if TYPE_CHECKING:
    from fakemq.namesrv.route_tables import RouteTables

SCAN_FIRST_MS = 5_000
SCAN_PERIOD_MS = 10_000


class Expiry:
    """One timer for each live broker; ``expire`` is called with the address of an expired one."""

    def __init__(
        self, clock: NodeClock, tables: RouteTables, expire: Callable[[str], None]
    ) -> None:
        self._clock = clock
        self._tables = tables
        self._expire = expire
        self._timers: dict[str, Timer] = {}
        self._timeouts_ms: dict[str, int] = {}
        """The timeout for which each broker's last timer was started."""
        self._started_ms = {False: 0, True: 0}
        self._period_ms = SCAN_PERIOD_MS

    def start(self, period_ms: int) -> None:
        """Begin the scans, one every ``period_ms``, at this moment on both axes."""
        self._period_ms = period_ms
        self._started_ms = {
            outside: self._clock.elapsed_ms(outside=outside) for outside in (False, True)
        }

    def elapsed_ms(self, live: BrokerLiveInfo) -> int:
        """Return the present time of the axis that this broker counts by."""
        return self._clock.elapsed_ms(outside=live.channel.outside)

    def watch(self, broker_addr: str) -> None:
        """Start the timer of a broker that has just registered.

        One that it has remains if it is on its axis and for the same timeout.
        """
        timer = self._timers.get(broker_addr)
        live = self._tables.broker_live_table[broker_addr]
        if (
            timer is None
            or timer.outside != live.channel.outside
            or self._timeouts_ms[broker_addr] != live.timeout_ms
        ):
            self._clock.cancel(timer)
            self._arm(broker_addr, live)

    def forget(self, broker_addr: str) -> None:
        """Cancel the timer of a removed broker, if it has one."""
        self._clock.cancel(self._timers.pop(broker_addr, None))
        self._timeouts_ms.pop(broker_addr, None)

    def clear(self) -> None:
        """Cancel all timers."""
        for broker_addr in list(self._timers):
            self.forget(broker_addr)

    def _due_ms(self, live: BrokerLiveInfo) -> int:
        # Java adds a timeout to a date, as longs: of a sum beyond them the next scan finds it past.
        outside = live.channel.outside
        to_date_ms = self._clock.now_ms() - self._clock.elapsed_ms(outside=outside)
        alive_ms = int64(live.last_update_ms + to_date_ms + live.timeout_ms) - to_date_ms
        # Java compares with a strict <: a broker is alive after exactly 120 s.
        return next_tick_ms(
            max(alive_ms + 1, live.last_update_ms),
            self._started_ms[outside],
            SCAN_FIRST_MS,
            self._period_ms,
        )

    def _arm(self, broker_addr: str, live: BrokerLiveInfo) -> None:
        def look() -> None:
            # A paused node's timers fire late: this one may have been replaced meanwhile.
            if self._timers.get(broker_addr) is timer:
                del self._timers[broker_addr]
                self._look(broker_addr)

        self._timeouts_ms[broker_addr] = live.timeout_ms
        timer = self._timers[broker_addr] = self._clock.call_later(
            self._due_ms(live) - self.elapsed_ms(live),
            look,
            kind="broker_expiry",
            outside=live.channel.outside,
            routine=lambda ms: self._move_last_update(broker_addr, ms),
        )

    def _move_last_update(self, broker_addr: str, ms: int) -> None:
        self._tables.broker_live_table[broker_addr].last_update_ms += ms

    def _look(self, broker_addr: str) -> None:
        live = self._tables.broker_live_table[broker_addr]
        if self._due_ms(live) > self.elapsed_ms(live):
            self._arm(broker_addr, live)
        else:
            self._expire(broker_addr)
