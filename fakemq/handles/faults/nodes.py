"""The faults of `mq.faults` for brokers: busy threads, full disks, lost flushes, damaged bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack, get_args

from fakemq.clock.durations import Duration, duration_ms
from fakemq.config import checked
from fakemq.errors import ConfigError
from fakemq.faults.plan import ALWAYS, ONCE, Point, Scope
from fakemq.faults.points import DISK_FULL, FLIP_BYTE
from fakemq.handles.faults.placing import ActionT, Fault, FaultPlacing, Often, when
from fakemq.protocol.java import LONG_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.broker.broker import Broker
    from fakemq.core.views import Message


Pool: TypeAlias = Literal[
    "send", "pull", "heartbeat", "transaction", "reply", "query", "client", "consumer", "admin"
]
"""A thread pool of a broker; docs/faults_nodes.md says which requests each of them handles."""


class NodeFaults(FaultPlacing):
    """Faults of a broker and its store.

    ``broker`` is a node's name (``"broker-a-1"``); a bare brokerName (``"broker-a"``) means its
    master. A fault stays placed when its broker restarts. A fault with ``often`` acts once by
    default; see `Often`. Each method raises LookupError for a broker that does not exist.
    """

    def disk_full(self, broker: str, *, must_fire: bool = True) -> Fault:
        """Fill the disk of the broker's store until the fault is removed.

        As in 4.9.7, the broker refuses messages with SERVICE_NOT_AVAILABLE and deletes its oldest
        files, also those that have not expired. A slave still appends what its master sends.
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

    def busy(self, broker: str, pool: Pool = "send", *, must_fire: bool = True) -> Fault:
        """Keep every thread of one of the broker's pools busy: its requests wait in its queue.

        A queue that is as long as its capacity (``sendThreadPoolQueueCapacity``, …) refuses
        requests with SYSTEM_BUSY and ``[OVERLOAD]…``. With ``brokerFastFailureEnable``, requests
        that wait as long as ``waitTimeMillsInSendQueue`` says (or that of the pull, heartbeat or
        transaction queue) get SYSTEM_BUSY and ``[TIMEOUT_CLEAN_QUEUE]…``. The rest are handled when
        the fault is removed. ConfigError for a pool that does not exist.
        """
        checked.one_of("pool", pool, get_args(Pool))
        node = self._core.broker(broker)
        return self._place_in_pool(node, pool, f"busy {pool} threads", must_fire, None)

    def page_cache_busy(self, broker: str, *, must_fire: bool = True) -> Fault:
        """Let one put hold the lock of the broker's log, because the page cache takes no bytes.

        Until the lock is held for over ``osPageCacheBusyTimeOutMills`` (1 s), further sends wait
        for it: each has one of the ``sendMessageThreadPoolNums`` threads (4), and the others wait
        in the queue of the pool, as with `busy`. Then the page cache is busy: new sends get
        SYSTEM_BUSY and ``[REJECTREQUEST]…``; sends in the queue get ``[PCBUSY_CLEAN_QUEUE]…``; and
        puts of requests that already had a thread fail with SYSTEM_ERROR and
        ``[PC_SYNCHRONIZED]…``. Sends that wait for the lock are stored when the fault is removed.
        """
        node = self._core.broker(broker)
        now_ms = self._call(node.clock.elapsed_ms)
        return self._place_in_pool(node, "send", "page cache busy", must_fire, now_ms)

    def tear_last_write(
        self, broker: str, *, kept_bytes: int | None = None, **often: Unpack[Often]
    ) -> Fault:
        """Let a kill leave only the first bytes of the log's last record.

        ``kept_bytes`` bytes of the record stay, by default half of it. The next start removes the
        torn record, even if its sender got SEND_OK. A record that is torn behind its body may pass
        as whole, as in RocketMQ: no checksum covers its topic and properties. Acts once by default.
        """
        from fakemq.faults.points import TEAR_LAST_WRITE  # few tests do this

        if kept_bytes is not None:
            checked.whole("kept_bytes", kept_bytes, 0, LONG_MAX)
        node = self._core.broker(broker)
        what = f"tear the last write of {node.name}"
        return self._of_node(node, TEAR_LAST_WRITE, kept_bytes, what, often)

    def lose_flush(self, broker: str, **often: Unpack[Often]) -> Fault:
        """Let a flush of the log report success without writing, like a disk with a false cache.

        Its bytes are lost after ``kill(lose_unsynced=True)`` unless a later flush writes them. Acts
        once by default. ConfigError for a store in memory, which flushes nothing.
        """
        from fakemq.faults.points import FLUSH  # few tests do this

        node = self._on_disk(broker)
        return self._of_node(node, FLUSH, "lost", f"lose a flush of {node.name}", often)

    def fail_flush(self, broker: str, **often: Unpack[Often]) -> Fault:
        """Let a flush of the log fail: producers that wait for it get FLUSH_DISK_TIMEOUT.

        The broker refuses later sends until its next start, even after the fault was removed. Acts
        once by default. ConfigError for a store in memory.
        """
        from fakemq.faults.points import FLUSH  # few tests do this

        node = self._on_disk(broker)
        return self._of_node(node, FLUSH, "failed", f"fail a flush of {node.name}", often)

    def slow_flush(self, broker: str, delay: Duration, **often: Unpack[Often]) -> Fault:
        """Let a flush of the log last ``delay`` of the cluster's time, such as ``"2s"``.

        With SYNC_FLUSH, producers that send during the flush wait for it and get FLUSH_DISK_TIMEOUT
        after syncFlushTimeout (5 s by default). Acts once by default. ConfigError for a store in
        memory, and for a delay of 0 or less.
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
        """Flip the bits of one byte of a stored message now, at its master or at ``broker``.

        ``message`` is a message that ``mq.messages`` returned, its id, or its place as a mapping:
        ``{"topic": "orders", "queue_id": 0, "offset": 7}``, with several masters also ``broker``.
        The id of a message is that of its retries, too: the message itself comes first.
        ``where`` is one of

        1. ``"log"``: the message's record; by default its first body byte flips;
        2. ``"queue"``: its entry in the consume queue; by default the last byte of the tags' hash;
        3. ``"index"``: the index entry of its last key; by default the last byte of the key's hash.

        ``byte`` selects another byte, counted from 0 at the beginning of that record or entry. The
        byte stays flipped when the fault is removed. LookupError if there is no such message,
        ConfigError if the broker has its store on disk and does not run.
        """
        from fakemq.core.flips import PLACES, flip, found  # few tests do this

        core = self._core
        one = self._running().carry_out(found(core, message))
        checked.one_of("where", where, PLACES)
        if byte is not None:
            checked.whole("byte", byte, 0, LONG_MAX)
        node = self._core.broker(broker or one.broker)
        if not node.running and node.store.disk is not None:
            raise ConfigError(f"{node.name} is {node.state}: flip bytes while it runs")
        on = self._call(lambda: flip(node, one, where, byte))
        what = f"flip a byte in the {where} of {node.name}"
        fault = self._place(FLIP_BYTE, None, what, Scope(node=node.name), ONCE)
        self._call(lambda: fault._placed.hit(node.name, on))
        return fault

    # -- inside -------------------------------------------------------------------------------

    def _place_in_pool(
        self, node: Broker, pool: str, what: str, must_fire: bool, lock_since_ms: int | None
    ) -> Fault:
        from fakemq.broker.thread_pools import POOLS, InPool
        from fakemq.faults.points import BEFORE_STORE

        pools = self._call(node.thread_pools)
        fault = self._place(
            BEFORE_STORE,
            InPool(pools, pool, lock_since_ms),
            f"{what} at {node.name}",
            Scope(node=node.name, code=POOLS[pool].codes),
            ALWAYS,
            must_fire=must_fire,
            on_end=pools.follow_faults,
        )
        self._call(pools.follow_faults)
        return fault

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
