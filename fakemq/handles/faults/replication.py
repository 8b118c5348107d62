"""The faults of `mq.faults` for replication between a master and its slaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from fakemq.config import checked
from fakemq.errors import ConfigError
from fakemq.faults.plan import ALWAYS, ONCE, Scope
from fakemq.handles.faults.placing import Fault, FaultPlacing, Often, when
from fakemq.protocol.java import LONG_MAX

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker

METADATA = {
    "topics": "GET_ALL_TOPIC_CONFIG",
    "offsets": "GET_ALL_CONSUMER_OFFSET",
    "delays": "GET_ALL_DELAY_OFFSET",
    "groups": "GET_ALL_SUBSCRIPTIONGROUP_CONFIG",
}
"""The tables that a slave copies from its master → the request by which it gets them."""


class ReplicationFaults(FaultPlacing):
    """Faults of replication, at a slave or at a master.

    ``broker`` is a node's name (``"broker-a-1"``); a bare brokerName (``"broker-a"``) means its
    master. A fault stays placed when nodes restart. A fault with ``often`` acts once by default;
    see `Often`. Each method raises LookupError for a broker that does not exist, and ConfigError
    for a master where a slave is expected.
    """

    def hold_slave(
        self, broker: str, *, at_offset: int | None = None, must_fire: bool = True
    ) -> Fault:
        """Let the slave append nothing beyond ``at_offset``, by default the present end of its log.

        ``at_offset`` is a byte offset of the commit log. The slave stays connected and reports its
        offset to the master; of a transfer that crosses the offset it appends only the part before.
        Lasts until the fault is removed; then the slave appends what it received meanwhile. With
        several such faults the smallest offset counts.
        """
        from fakemq.faults.points import HOLD_SLAVE  # few tests do this

        node = self._slave(broker)
        if at_offset is not None:
            checked.whole("at_offset", at_offset, 0, LONG_MAX)
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
        """Let a master receive no acknowledgement: of this slave, or of all slaves of this master.

        The slaves store the bytes and stay connected; sends to a SYNC_MASTER end with
        FLUSH_SLAVE_TIMEOUT. Lasts until the fault is removed; then the masters receive the last
        acknowledgement of each slave.
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
        """Break a transfer to this slave, or of this master, after ``at_byte`` bytes of its frame.

        The connection ends there, and the slave connects again. ``at_byte`` counts from 0 at the
        frame's 12-byte header. A shorter frame arrives whole before the connection ends. Acts once
        by default.
        """
        from fakemq.faults.points import TEAR_TRANSFER  # few tests do this

        checked.whole("at_byte", at_byte, 0, LONG_MAX)
        scope = self._towards(broker)
        of = f"to {scope.peer}" if scope.peer else f"of {scope.node}"
        what = f"tear a transfer {of} at byte {at_byte}"
        must_fire = often.get("must_fire", True)
        return self._place(TEAR_TRANSFER, at_byte, what, scope, when(often), must_fire=must_fire)

    def reorder_metadata(
        self, broker: str, what: str | None = None, **often: Unpack[Often]
    ) -> Fault:
        """Deliver the master's answer to a metadata request of this slave after the next answer.

        A slave requests the master's tables every 10 s. The delayed answer arrives 10 s late, right
        after the newer one, so that the slave has the older state until its next request. ``what``
        selects a table: ``"topics"``, ``"offsets"``, ``"delays"`` or ``"groups"``; by default any
        table. Acts once by default.
        """
        from fakemq.faults.points import REORDER_METADATA  # few tests do this
        from fakemq.protocol.codes import RequestCode

        node = self._slave(broker)
        if what is not None and what not in METADATA:
            raise ConfigError(f"what={what!r}: expected one of {', '.join(METADATA)}")
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
        """Cut the end off the slave's log at its next stop or kill, once.

        ``to_offset`` is the byte offset where the log then ends; ``lose_bytes`` is the number of
        bytes to cut instead; exactly one of them is given. The slave starts without the record that
        was cut through, and replicates again from there. ``at_once=True`` kills the slave and
        starts it again now.
        """
        from fakemq.faults.points import TRUNCATE_SLAVE  # few tests do this

        checked.flag("at_once", at_once)
        node = self._slave(broker)
        if (to_offset is None) == (lose_bytes is None):
            raise ConfigError("a slave is truncated either to_offset= or by lose_bytes=")
        name, number = (
            ("to_offset", to_offset) if lose_bytes is None else ("lose_bytes", lose_bytes)
        )
        number = checked.whole(name, number, 0, LONG_MAX)
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
        """Let the broker accept the first offset that a slave reports without a check, as 4.9.7.

        A slave that connects from now on and reports an offset beyond the end of the master's log
        makes the master answer SEND_OK for messages that no slave has, until the master restarts;
        RocketMQ 4.9.7 has this defect. Without the fault the master checks the offset. Lasts until
        the fault is removed; an offset that was accepted before stays accepted.
        """
        from fakemq.faults.points import BELIEVE_REPORTS  # few tests have slaves that lie

        node = self._core.broker(broker)
        what, scope = f"believe_reports {node.name}", Scope(node=node.name)
        return self._place(BELIEVE_REPORTS, None, what, scope, ALWAYS, must_fire=must_fire)

    # -- inside -------------------------------------------------------------------------------

    def _slave(self, broker: str) -> Broker:
        node = self._core.broker(broker)
        if not node.role.is_slave:
            slaves = ", ".join(
                other.name for other in self._core.brokers.values() if other.role.is_slave
            )
            raise ConfigError(f"{node.name} is no slave; there are: {slaves or 'none'}")
        return node

    def _towards(self, broker: str) -> Scope:
        """Return the scope of the transfers and reports of one slave, or of all of one master."""
        node = self._core.broker(broker)
        return Scope(peer=node.name) if node.role.is_slave else Scope(node=node.name)
