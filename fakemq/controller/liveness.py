"""Which brokers live, by their heartbeats to one controller.

Java scans all of them every 5 s, or as scanNotActiveBrokerInterval says, first after 2 s. Here each
has one timer, due at the tick of that grid at which the scan would find it.

A broker is dead, too, when the connection closes on which its *first* heartbeat came, even if later
ones came on another. Its next heartbeat makes it live again.

With jRaft heartbeats are in the log: a new leader begins with the brokers of the last one.

Source: controller/impl/heartbeat/DefaultBrokerHeartbeatManager.java,
RaftBrokerHeartBeatManager.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fakemq.clock.timers import next_tick_ms
from fakemq.controller.state import MOST_CHARS
from fakemq.protocol.java import INT_MAX, int32, java_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Timer
    from fakemq.journal.journal import Journal
    from fakemq.net.session import Session
    from fakemq.protocol.v5.headers.namesrv import BrokerHeartbeatRequestHeader

SCAN_FIRST_MS = 2_000
DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS = 10_000
LONGEST_TIMEOUT_MS = 366 * 24 * 3_600_000
"""A year: no time-out is longer here."""
MOST_OF_SESSION = 100
"""How many brokers may have their first heartbeat on one connection; Java's has one there."""
MOST_BROKERS = 20_000
"""How many brokers a controller watches; the heartbeats of others are lost. Java has no limit."""
TOO_MANY = "heartbeats of too many brokers, or with too long names"
"""Kind of warning about peers that say they are brokers."""


class BrokerIdentityInfo(NamedTuple):
    """Which broker it is.

    Source: controller/impl/heartbeat/BrokerIdentityInfo.java (5.5.0)
    """

    cluster: str | None
    broker_name: str | None
    broker_id: int

    @property
    def bucket(self) -> int:
        """Where a map of Java's 512 buckets has it: of one connection the lowest dies first."""
        code = 1
        for part in self:
            code = int32(31 * code + java_hash(part))
        return (code ^ (code & 0xFFFF_FFFF) >> 16) & 511


class LiveBroker(msgspec.Struct):
    """What the heartbeats of a broker said, and when the last one came."""

    session: Session | None
    """The connection of the first one; None while only another controller knows it."""
    outside: bool
    last_update_ms: int
    """By the axis of its peers: real time for a broker outside the cluster."""
    timeout_ms: int
    election_priority: int
    epoch: int
    max_offset: int
    """Of an epoch it never falls, nor does the epoch: a heartbeat may be late."""
    timer: Timer | None = None


class Liveness:
    """The brokers that send one controller heartbeats.

    ``on_silent`` is called with a broker's name when its last heartbeat no longer counts, and
    ``on_inactive`` when the next scan finds it: then it is forgotten, and its connection closed.
    """

    def __init__(
        self,
        name: str,
        clock: NodeClock,
        journal: Journal,
        on_inactive: Callable[[BrokerIdentityInfo, str], None],
        on_silent: Callable[[str | None], None],
    ) -> None:
        self._name = name
        self._clock = clock
        self._journal = journal
        self._on_inactive = on_inactive
        self._on_silent = on_silent
        self._table: dict[BrokerIdentityInfo, LiveBroker] = {}
        self._of_session: dict[Session, dict[BrokerIdentityInfo, None]] = {}
        self._orphans: dict[BrokerIdentityInfo, None] = {}
        """Those whose first connection is not open: they make room for others if there is none."""
        self._started_ms = {False: 0, True: 0}
        self._period_ms = 5_000

    def start(self, period_ms: int) -> None:
        """Begin the scans, one every ``period_ms``, at this moment on both axes."""
        self._period_ms = period_ms
        self._started_ms = {
            outside: self._clock.elapsed_ms(outside=outside) for outside in (False, True)
        }

    def beat(self, header: BrokerHeartbeatRequestHeader, broker_id: int, session: Session) -> None:
        """Take a heartbeat."""
        # Java does not miss them: such a broker is one that no request names.
        cluster, name = header.get("cluster_name", None), header.get("broker_name", None)
        chars = max(len(header.get(one, "")) for one in ("cluster_name", "broker_name"))
        if chars > MOST_CHARS:
            text = (
                f"a heartbeat with a name of {chars:,} characters is lost: {MOST_CHARS:,} at most"
            )
            self._journal.peer_warnings.warn(self._name, TOO_MANY, text)
            return
        identity = BrokerIdentityInfo(cluster, name, broker_id)
        epoch = -1 if header.epoch is None else header.epoch
        max_offset = -1 if header.max_offset is None else header.max_offset
        timeout_ms = header.heartbeat_timeout_mills
        if timeout_ms is None:
            timeout_ms = DEFAULT_BROKER_CHANNEL_EXPIRED_TIME_MS
        timeout_ms = max(-1, min(timeout_ms, LONGEST_TIMEOUT_MS))
        priority = INT_MAX if header.election_priority is None else header.election_priority
        live = self._table.get(identity)
        if live is not None and live.session is None:
            epoch, max_offset = max((epoch, max_offset), (live.epoch, live.max_offset))
            self._remove(identity)
            live = None
        if live is not None:
            live.last_update_ms = self._now_ms(live)
            live.timeout_ms, live.election_priority = timeout_ms, priority
            if (epoch, max_offset) > (live.epoch, live.max_offset):
                live.epoch, live.max_offset = epoch, max_offset
            if identity in self._orphans:  # the one that was silent longest is the first again
                del self._orphans[identity]
                self._orphans[identity] = None
            self._watch(identity, live)
            return
        if len(self._table) >= MOST_BROKERS and self._orphans:
            self._drop(next(iter(self._orphans)), "no room")
        of_session = self._of_session.get(session, ())
        if len(self._table) >= MOST_BROKERS or len(of_session) >= MOST_OF_SESSION:
            text = (
                f"a heartbeat of {name} ({broker_id}) is lost: {len(of_session):,} brokers of its"
                f" connection live, {len(self._table):,} of all"
            )
            self._journal.peer_warnings.warn(self._name, TOO_MANY, text)
            return
        outside = session.outside
        now_ms = self._clock.elapsed_ms(outside=outside)
        live = LiveBroker(session, outside, now_ms, timeout_ms, priority, epoch, max_offset)
        self._table[identity] = live
        self._of_session.setdefault(session, {})[identity] = None
        self._watch(identity, live)

    def is_alive(self, cluster: str | None, broker_name: str, broker_id: int) -> bool:
        """Return whether the last heartbeat of a broker still counts."""
        live = self._table.get(BrokerIdentityInfo(cluster, broker_name, broker_id))
        return live is not None and self._counts(live)

    def alive(self) -> list[BrokerIdentityInfo]:
        """Return the brokers whose last heartbeat still counts."""
        return [identity for identity, live in self._table.items() if self._counts(live)]

    def standing(self, cluster: str | None, broker_name: str, broker_id: int) -> LiveBroker | None:
        """Return what a broker's heartbeats said; None if it sends none."""
        return self._table.get(BrokerIdentityInfo(cluster, broker_name, broker_id))

    def closed(self, session: Session) -> None:
        """Count as dead, at once, one broker whose first heartbeat came on a closed connection.

        Java removes one of them, too; others on this connection live until their time-outs.
        """
        identities = self._of_session.pop(session, None)
        if identities:
            first = min(identities, key=lambda one: one.bucket)
            self._orphans.update(identities)
            self._drop(first, "channel closed")

    def known(self) -> dict[BrokerIdentityInfo, LiveBroker]:
        """Return what another controller can `take_over`."""
        return {
            identity: msgspec.structs.replace(live, session=None, timer=None)
            for identity, live in self._table.items()
        }

    def take_over(self, known: Mapping[BrokerIdentityInfo, LiveBroker]) -> None:
        """Know the living brokers that another controller knew, and no others."""
        for identity in [one for one in self._table if one not in known]:
            self._remove(identity)
        for identity, live in known.items():
            if identity not in self._table and self._counts(live):
                self._table[identity] = live
                self._orphans[identity] = None
                self._watch(identity, live)

    def forget_standings(self) -> None:
        """Forget how far the logs go: the next heartbeats say it anew, also if it is less."""
        for live in self._table.values():
            live.epoch = live.max_offset = -1

    def clear(self) -> None:
        """Forget all of them; nothing is called."""
        for live in self._table.values():
            self._clock.cancel(live.timer)
        self._table.clear()
        self._orphans.clear()
        self._of_session.clear()

    def _counts(self, live: LiveBroker) -> bool:
        return live.last_update_ms + live.timeout_ms >= self._now_ms(live)

    def _now_ms(self, live: LiveBroker) -> int:
        return self._clock.elapsed_ms(outside=live.outside)

    def _watch(self, identity: BrokerIdentityInfo, live: LiveBroker) -> None:
        """Start the timer of a broker, unless it has one that is early enough."""
        due_ms = _silent_ms(live)
        if live.timer is None or not live.timer.pending or live.timer.due_ms > due_ms:
            self._look_at(due_ms, identity, live)

    def _look_at(self, due_ms: int, identity: BrokerIdentityInfo, live: LiveBroker) -> None:
        self._clock.cancel(live.timer)

        def move(ms: int) -> None:
            live.last_update_ms += ms

        def look() -> None:
            if self._table.get(identity) is live:
                live.timer = None
                self._look(identity, live)

        live.timer = self._clock.call_later(
            due_ms - self._now_ms(live),
            look,
            kind="controller_expiry",
            outside=live.outside,
            routine=move,
        )

    def _scan_ms(self, live: LiveBroker) -> int:
        """Return when a scan finds a broker that stays silent."""
        started_ms = self._started_ms[live.outside]
        return next_tick_ms(_silent_ms(live), started_ms, SCAN_FIRST_MS, self._period_ms)

    def _look(self, identity: BrokerIdentityInfo, live: LiveBroker) -> None:
        if self._counts(live):
            self._watch(identity, live)
            return
        scan_ms = self._scan_ms(live)
        if scan_ms > self._now_ms(live):
            self._look_at(scan_ms, identity, live)
            self._on_silent(identity.broker_name)
            return
        self._remove(identity)
        if live.session is not None:
            live.session.close(f"{identity.broker_name} ({identity.broker_id}) is silent")
        self._on_inactive(identity, "expired")

    def _drop(self, identity: BrokerIdentityInfo, why: str) -> None:
        self._remove(identity)
        self._on_inactive(identity, why)

    def _remove(self, identity: BrokerIdentityInfo) -> None:
        live = self._table.pop(identity)
        self._orphans.pop(identity, None)
        self._clock.cancel(live.timer)
        session = live.session
        others = None if session is None else self._of_session.get(session)
        if session is not None and others is not None:
            others.pop(identity, None)
            if not others:
                del self._of_session[session]


def _silent_ms(live: LiveBroker) -> int:
    """Return when a heartbeat no longer counts.

    Java compares with a strict ``>``: a broker lives after exactly its time-out.
    """
    return live.last_update_ms + live.timeout_ms + 1
