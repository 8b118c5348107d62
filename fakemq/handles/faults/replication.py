"""Faults of replication, in its own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from fakemq.config import checked
from fakemq.errors import ConfigError
from fakemq.faults.plan import ALWAYS, ONCE, Scope
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, when

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker

METADATA = {
    "topics": "GET_ALL_TOPIC_CONFIG",
    "offsets": "GET_ALL_CONSUMER_OFFSET",
    "delays": "GET_ALL_DELAY_OFFSET",
    "groups": "GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
}
"""What a slave asks its master for, and by which requests."""


class ReplicationFaults(FaultPlacing):
    """Faults of slaves and their masters. A bare brokerName means the master.

    All of it outlives restarts. "Once" is where nothing is said of how often; see `Often`.
    """

    def hold_slave(
        self, broker: str, *, at_offset: int | None = None, must_fire: bool = True
    ) -> Fault:
        """The slave appends nothing beyond an offset of the log, or beyond its end as it is now.

        It stays connected and says how far it is; a transfer that goes further is cut. Lasts until
        it is removed; then the slave takes what has come meanwhile. Of several the smallest offset
        counts.
        """
        from fakemq.faults.points import HOLD_SLAVE  # few tests do this

        node = self._slave(broker)
        if at_offset is not None:
            checked.whole("at_offset", at_offset, 0)
        limit = self._call(lambda: node.store.max_phy_offset) if at_offset is None else at_offset

        def release() -> None:
            end = node.ha.client.end if node.ha is not None and node.ha.client is not None else None
            if end is not None:
                end.resume_appends()

        what = f"hold {node.name} at offset {limit}"
        scope = Scope(node=node.name)
        return self._place(
            HOLD_SLAVE, limit, what, scope, ALWAYS, must_fire=must_fire, on_end=release
        )

    def withhold_acks(self, broker: str, *, must_fire: bool = True) -> Fault:
        """No master hears this slave say what it has; or a master hears no slave of its own.

        The slaves have the bytes and stay connected, and sends to a SYNC_MASTER end with
        FLUSH_SLAVE_TIMEOUT. Lasts until it is removed; then the masters know what was last said.
        """
        from fakemq.faults.points import WITHHOLD_ACKS  # few tests do this

        core, scope = self._core, self._towards(broker)

        def release() -> None:
            for node in core.brokers.values():
                for end in list(node.ha.connections) if node.ha is not None else ():
                    if node.name == scope.node or end.peer_node == scope.peer:
                        end.redeliver_ack()

        what = f"withhold acks of {scope.peer or f'the slaves of {scope.node}'}"
        return self._place(
            WITHHOLD_ACKS, None, what, scope, ALWAYS, must_fire=must_fire, on_end=release
        )

    def tear_transfer(self, broker: str, *, at_byte: int, **often: Unpack[Often]) -> Fault:
        """A transfer to this slave, or of this master, breaks off: once. The slave connects again.

        ``at_byte`` counts from the frame's beginning, its 12 bytes of header first. A frame that is
        shorter arrives whole, and the connection ends behind it.
        """
        from fakemq.faults.points import TEAR_TRANSFER  # few tests do this

        checked.whole("at_byte", at_byte, 0)
        scope = self._towards(broker)
        who = f"to {scope.peer}" if scope.peer else f"of {scope.node}"
        what = f"tear a transfer {who} at byte {at_byte}"
        must_fire = often.get("must_fire", True)
        return self._place(TEAR_TRANSFER, at_byte, what, scope, when(often), must_fire=must_fire)

    def reorder_metadata(
        self, broker: str, what: str | None = None, **often: Unpack[Often]
    ) -> Fault:
        """The master's answer to a look of this slave is overtaken by that to its next look: once.

        It comes behind that one, 10 s late: the slave has the newer state first and then the older,
        until it looks once more. ``what`` is ``topics``, ``offsets``, ``delays`` or ``groups``;
        without it, it is any of them, the next if once.
        """
        from fakemq.faults.points import REORDER_METADATA  # few tests do this
        from fakemq.protocol.codes import RequestCode

        node = self._slave(broker)
        if what is not None and what not in METADATA:
            raise ConfigError(f"what={what!r}: a slave looks at {', '.join(METADATA)}")
        code = None if what is None else RequestCode[METADATA[what]]
        text = f"reorder metadata of {node.name}: {what or 'all'}"
        must_fire = often.get("must_fire", True)
        scope = Scope(node=node.name, code=code)
        return self._place(REORDER_METADATA, None, text, scope, when(often), must_fire=must_fire)

    def truncate_slave(
        self,
        broker: str,
        *,
        to_offset: int | None = None,
        lose_bytes: int | None = None,
        at_once: bool = False,
        must_fire: bool = True,
    ) -> Fault:
        """The slave's log loses what is behind an offset, or its last bytes, with its next end.

        That is its next stop or kill, and happens once. It starts without the record that was cut,
        and goes on from there. ``at_once`` kills it and starts it again.
        """
        from fakemq.faults.points import TRUNCATE_SLAVE  # few tests do this

        node = self._slave(broker)
        if (to_offset is None) == (lose_bytes is None):
            raise ConfigError("a slave is truncated either to_offset= or by lose_bytes=")
        name, number = (
            ("to_offset", to_offset) if lose_bytes is None else ("lose_bytes", lose_bytes)
        )
        number = checked.whole(name, number, 0)
        how = f"to offset {number}" if lose_bytes is None else f"by {number} bytes"
        fault = self._place(
            TRUNCATE_SLAVE,
            (name, number),
            f"truncate {node.name} {how}",
            Scope(node=node.name),
            ONCE,
            must_fire=must_fire,
        )
        if at_once:
            server = self._running().server
            self._call(lambda: server.kill_broker(node))
            self._call(lambda: server.start_broker(node))
        return fault

    def believe_reports(self, broker: str, *, must_fire: bool = True) -> Fault:
        """The broker believes what slaves that connect from now on report first, as 4.9.7 does.

        One that reports an end beyond the master's own has senders told SEND_OK of what no slave
        has, until the broker's next restart, as there. Lasts until it is removed; what was believed
        stays so.
        """
        from fakemq.faults.points import BELIEVE_REPORTS  # few tests have slaves that lie

        node = self._core.broker(broker)
        what, scope = f"believe_reports {node.name}", Scope(node=node.name)
        return self._place(BELIEVE_REPORTS, None, what, scope, ALWAYS, must_fire=must_fire)

    # -- inside -------------------------------------------------------------------------------

    def _slave(self, broker: str) -> Broker:
        node = self._core.broker(broker)
        if not node.config.is_slave:
            slaves = ", ".join(
                other.name for other in self._core.brokers.values() if other.config.is_slave
            )
            raise ConfigError(f"{node.name} is no slave; there are: {slaves or 'none'}")
        return node

    def _towards(self, broker: str) -> Scope:
        """Transfers and reports of one slave; or all of one master."""
        node = self._core.broker(broker)
        return Scope(peer=node.name) if node.config.is_slave else Scope(node=node.name)
