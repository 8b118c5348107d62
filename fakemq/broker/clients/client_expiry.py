"""Remove clients by the first scan after 120 s without a heartbeat, or channelExpiredTimeout.

Java scans all members every 10 s. Here each connection with members has one timer, due at the tick
of that grid at which the scan would find it. So an idle broker has no timer.

Source: broker/client/ClientHousekeepingService.java,
broker/client/ConsumerManager.java#scanNotActiveChannel (4.9.7)
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fakemq.clock.timers import Timer, next_tick_ms

if TYPE_CHECKING:
    from fakemq.broker.clients.consumers import ConsumerManager
    from fakemq.broker.clients.producers import ProducerManager
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.net.session import Session

SCAN_PERIOD_MS = 10_000
"""The period of Java's scans, and the time before the first one."""


class ClientExpiry:
    """One timer per connection that producers or consumers registered on."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        producers: ProducerManager,
        consumers: ConsumerManager,
    ) -> None:
        self._node = node
        self._producers = producers
        self._consumers = consumers
        self._timers: dict[Session, Timer] = {}
        self._started_ms: dict[bool, int] = {}
        self.start()

    def start(self) -> None:
        """Let the grid of scans begin now, on both time axes."""
        clock = self._node.clock
        self._started_ms = {outside: clock.elapsed_ms(outside=outside) for outside in (False, True)}

    def watch(self, session: Session) -> None:
        """Set the deadline again, after a heartbeat on this connection or after a member left."""
        clock = self._node.clock
        clock.cancel(self._timers.pop(session, None))
        dues_ms = [
            # Java compares with a strict >, so exactly 120 s of silence is still alive.
            channel.last_heartbeat_ms + members.expired_timeout_ms + 1
            for members in (self._producers, self._consumers)
            for channel in islice(members.channels_of(session), 1)  # silent for the longest time
        ]
        if not dues_ms or session.closed:
            return
        due_ms = next_tick_ms(
            min(dues_ms),
            self._started_ms[session.outside],
            SCAN_PERIOD_MS,
            SCAN_PERIOD_MS,
        )
        timer = clock.call_later(
            due_ms - clock.elapsed_ms(outside=session.outside),
            lambda: self._look(session, timer),
            kind="client_expiry",
            outside=session.outside,
        )
        self._timers[session] = timer

    def expire(self, session: Session) -> None:
        """Remove all members of this connection, as if their heartbeats had stopped long ago."""
        now_ms = self._node.clock.elapsed_ms(outside=session.outside)
        kinds = self._producers, self._consumers
        silent_ms = max(members.expired_timeout_ms for members in kinds) + 1
        for members in kinds:
            for channel in members.channels_of(session):
                channel.last_heartbeat_ms = now_ms - silent_ms
        self._node.clock.cancel(self._timers.pop(session, None))
        self._node.clock.carry_out(self._scan(session), peer=self)

    def session_closed(self, session: Session) -> None:
        """Forget a connection that was closed."""
        self._node.clock.cancel(self._timers.pop(session, None))

    def reset(self) -> None:
        """Forget every connection that was closed."""
        for session in [session for session in self._timers if session.closed]:
            self.session_closed(session)

    def _look(self, session: Session, timer: Timer) -> None:
        if self._timers.get(session) is not timer:
            return  # the timer was replaced while the node was paused, when timers fire late
        del self._timers[session]
        self._node.clock.carry_out(self._scan(session), peer=self)

    def _scan(self, session: Session) -> Steps[None]:
        expired_ms = []
        for members in (self._producers, self._consumers):
            if (yield from members.expire(session)):
                expired_ms.append(members.expired_timeout_ms)
        if expired_ms:
            session.close(f"no heartbeat for {min(expired_ms) // 1000} s")
        else:
            self.watch(session)
