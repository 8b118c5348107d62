"""What faults do to the log of a node that ends: the log is torn or cut.

A damaged store in memory is repaired here, too; a store in a directory repairs itself at its start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events.core import StoreRepaired
from fakemq.events.store import StoreRecovered
from fakemq.faults.plan import Scope
from fakemq.faults.points import TEAR_LAST_WRITE, TRUNCATE_SLAVE
from fakemq.protocol.message import record_size_bytes
from fakemq.store import checkpoint as checkpoints
from fakemq.store.checkpoint import StoreCheckpoint
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.recovery import Recovery

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock
    from fakemq.faults.plan import ActiveFault, FaultPlan
    from fakemq.store.store import MessageStore


class StoreEnd:
    """A store that a node is about to close, and the faults that damage the end of its log."""

    def __init__(self, store: MessageStore, plan: FaultPlan, clock: NodeClock, node: str) -> None:
        self._store = store
        self._log = store.log
        self._plan = plan
        self._clock = clock
        self._node = node

    def damage(self, how: str) -> None:
        """Apply the faults; ``how`` is ``stop`` or ``kill``.

        A store in memory has no start that would find the damage: it is repaired here.
        """
        plan, scope = self._plan, Scope(node=self._node)
        truncate = plan.choose(TRUNCATE_SLAVE, scope) if plan.at(TRUNCATE_SLAVE) else None
        if truncate is not None:
            self._truncate(truncate)
        if how == "kill" and plan.at(TEAR_LAST_WRITE):
            last = self._last_record()
            tear = None if last is None else plan.choose(TEAR_LAST_WRITE, scope)
            if last is not None and tear is not None:
                self._tear(tear, *last)
        if self._store.disk is None and self._store.files.damaged:
            self._repair()

    def _truncate(self, placed: ActiveFault[tuple[str, int]]) -> None:
        log = self._log
        name, number = placed.action
        end = log.max_offset
        start = max(log.min_offset, 0, number if name == "to_offset" else end - number)
        if start < end:
            placed.hit(self._node, f"its log from offset {start} to {end}")
            self._erase(start, end)

    def _tear(self, placed: ActiveFault[int | None], at: int, size_bytes: int) -> None:
        kept_bytes = placed.action
        if kept_bytes is None:
            # No checksum covers what follows the body: damage there may go unnoticed.
            message = self._store.look_message_by_offset(at)
            end_of_body = size_bytes
            if message is not None:
                end_of_body = record_size_bytes(message.sys_flag, len(message.body), 0, 0)
            kept_bytes = end_of_body // 2
        kept_bytes = min(kept_bytes, size_bytes - 1)
        placed.hit(
            self._node, f"the record of {size_bytes} bytes at offset {at}: {kept_bytes} are there"
        )
        self._erase(at + kept_bytes, self._store.max_phy_offset)

    def _last_record(self) -> tuple[int, int] | None:
        """Return offset and size of the last complete record; None if there is none."""
        for first, file in reversed(self._log.files):
            last = None
            for at, record in self._log.records(first, first + file.position):
                last = (at, len(record))
            if last is not None:
                return last
        return None

    def _erase(self, start: int, end: int) -> None:
        """Write zeros to the log from ``start`` to ``end``: a disk has them where nothing was
        written."""
        log, at = self._log, start
        while at < end and (found := log.find_file(at)) is not None:
            file, first = found
            # Behind its view a file has only zeros.
            erased = file.view[at - first : min(end - first, file.position)]
            file.spoil(at - first, bytes(len(erased)))
            at = log.next_file_offset(at)
        self._store.files.damaged = True

    def _repair(self) -> None:
        """Repair a store in memory as the start of one in a directory does.

        Source: store/CommitLog.java#recoverAbnormally (4.9.7)
        """
        store, node, journal = self._store, self._node, self._plan.journal
        now_ms = self._clock.now_ms()
        store.start_empty()

        def repaired(path: str, offset: int, cut_bytes: int, why: str) -> None:
            file = store.files.path_of(path)
            journal.add(
                StoreRepaired(node=node, file=file, offset=offset, cut_bytes=cut_bytes, why=why)
            )

        nothing_safe = StoreCheckpoint(
            MemoryFiles(self._clock).open(checkpoints.PATH, checkpoints.FILE_BYTES)
        )
        recovery = Recovery(store, repaired)
        recovery.run(now_ms, nothing_safe, clean=False)
        store.index.on_bad = repaired
        store.files.damaged = False
        journal.add(
            StoreRecovered(
                node=node,
                clean=False,
                min_phy_offset=store.log.min_offset,
                max_phy_offset=store.log.max_offset,
                dispatched=recovery.dispatched,
            )
        )
