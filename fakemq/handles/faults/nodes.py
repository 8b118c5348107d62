"""Faults of nodes and their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from fakemq.clock.durations import Duration, duration_ms
from fakemq.config import checked
from fakemq.errors import ConfigError
from fakemq.faults.plan import ALWAYS, ONCE, Point, Scope
from fakemq.faults.points import DISK_FULL, FLIP_BYTE
from fakemq.handles.faults.placing import ActionT, Fault, FaultPlacing, Often, when

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.broker.broker import Broker
    from fakemq.core.views import Message


class NodeFaults(FaultPlacing):
    """Faults of a node's store. A bare brokerName means the master.

    All of it outlives restarts. "Once" is where nothing is said of how often; see `Often`.
    """

    def disk_full(self, broker: str, *, must_fire: bool = True) -> Fault:
        """The disk of the broker's store is full: lasts until it is removed.

        Messages are refused with SERVICE_NOT_AVAILABLE, and old files go whatever their age, as in
        4.9.7. A slave goes on appending what its master sends.
        """
        node, plan = self._core.broker(broker), self._core.faults

        def judge() -> None:
            filling = [one for one in plan.at(DISK_FULL) if one.scope.node == node.name]
            node.store.disk_space.fill(filling[0] if filling else None)

        fault = self._place(
            DISK_FULL,
            None,
            f"disk of {node.name} full",
            Scope(node=node.name),
            ALWAYS,
            must_fire=must_fire,
            on_end=judge,
        )
        self._call(judge)
        return fault

    def tear_last_write(
        self, broker: str, *, kept_bytes: int | None = None, **often: Unpack[Often]
    ) -> Fault:
        """A kill leaves of the log's last record its first bytes only, half by default: once.

        The next start cuts it off, whatever was said of it to its sender. One that is torn behind
        its body may be taken for whole, as by RocketMQ: nothing sums up topic and properties.
        """
        from fakemq.faults.points import TEAR_LAST_WRITE  # few tests do this

        if kept_bytes is not None:
            checked.whole("kept_bytes", kept_bytes, 0)
        node = self._core.broker(broker)
        what = f"tear the last write of {node.name}"
        return self._of_node(node, TEAR_LAST_WRITE, kept_bytes, what, often)

    def lose_flush(self, broker: str, **often: Unpack[Often]) -> Fault:
        """A flush of the log is said to be done and is not, as by a disk whose cache lies: once.

        What it was to make safe is gone after `kill(lose_unsynced=True)`, unless a later flush has
        reached it. ConfigError for a store in memory, which flushes nothing.
        """
        from fakemq.faults.points import FLUSH  # few tests do this

        node = self._on_disk(broker)
        return self._of_node(node, FLUSH, "lost", f"lose a flush of {node.name}", often)

    def fail_flush(self, broker: str, **often: Unpack[Often]) -> Fault:
        """A flush of the log fails, once: who waits is told FLUSH_DISK_TIMEOUT.

        Later sends are refused until the broker's next start, though the fault be removed.
        ConfigError for a store in memory.
        """
        from fakemq.faults.points import FLUSH  # few tests do this

        node = self._on_disk(broker)
        return self._of_node(node, FLUSH, "failed", f"fail a flush of {node.name}", often)

    def slow_flush(self, broker: str, delay: Duration, **often: Unpack[Often]) -> Fault:
        """A flush of the log takes so much of the cluster's time: once.

        With SYNC_FLUSH whoever sends meanwhile waits for it, and is told FLUSH_DISK_TIMEOUT after
        syncFlushTimeout, 5 s. ConfigError for a store in memory.
        """
        from fakemq.faults.points import SLOW_FLUSH  # few tests do this

        node, delay_ms = self._on_disk(broker), duration_ms(delay, name="delay")
        if delay_ms <= 0:
            raise ConfigError(f"delay={delay!r}: expected more than nothing")
        what = f"slow a flush of {node.name} by {delay_ms} ms"
        return self._of_node(node, SLOW_FLUSH, delay_ms, what, often)

    def flip_byte(
        self,
        message: Message | Mapping[str, object] | str,
        *,
        where: str = "log",
        byte: int | None = None,
        broker: str | None = None,
    ) -> Fault:
        """Flip a byte of a stored message at once, at its master or at ``broker``: happens once.

        ``message`` is one that ``mq.messages`` gave, its id, or its place: ``topic``, ``queue_id``
        and ``offset``, with several masters ``broker``, too. LookupError if there is none.
        ``where`` is its record in the ``log``, its entry in the ``queue`` or that of its last key
        in the ``index``; ``byte`` counts from the beginning of that. By default it is the first of
        the body, the last of the tags' hash, and the last of the key's hash. What has flipped stays
        so when the fault is removed.
        """
        from fakemq.core.flips import PLACES, flip, found  # few tests do this

        core = self._core
        one = self._call(lambda: found(core, message))
        checked.one_of("where", where, PLACES)
        if byte is not None:
            checked.whole("byte", byte, 0)
        node = self._core.broker(broker or one.broker)
        if not node.running and node.store.disk is not None:
            raise ConfigError(f"{node.name} is {node.state}: flip bytes while it runs")
        on = self._call(lambda: flip(node, one, where, byte))
        what = f"flip a byte in the {where} of {node.name}"
        fault = self._place(FLIP_BYTE, None, what, Scope(node=node.name), ONCE)
        self._call(lambda: fault._placed.hit(node.name, on))
        return fault

    # -- inside -------------------------------------------------------------------------------

    def _of_node(
        self, node: Broker, point: Point[ActionT], action: ActionT, what: str, often: Often
    ) -> Fault:
        must_fire = often.get("must_fire", True)
        scope = Scope(node=node.name)
        return self._place(point, action, what, scope, when(often), must_fire=must_fire)

    def _on_disk(self, broker: str) -> Broker:
        node = self._core.broker(broker)
        if node.store.disk is None:
            raise ConfigError(
                f"the store of {node.name} is in memory and flushes nothing; this fault needs one"
                " in a directory (store=DIR)"
            )
        return node
