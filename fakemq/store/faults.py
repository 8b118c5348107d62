"""What faults do to stores: flushes that are slow, lost or fail; ends of logs that are torn or cut.

Also what brings a store in memory into order that was damaged; one in a directory starts with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fakemq.errors import StoreError
from fakemq.events.core import StoreRepaired
from fakemq.events.store import StoreRecovered
from fakemq.faults.plan import Point, Scope
from fakemq.protocol.message import record_size_bytes
from fakemq.store import checkpoint as checkpoints
from fakemq.store.checkpoint import StoreCheckpoint
from fakemq.store.commitlog import FOLDER as LOG
from fakemq.store.directory_file import DirectoryFile
from fakemq.store.memory_files import MemoryFiles
from fakemq.store.recovery import Recovery

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.faults.plan import FaultPlan, Placed
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.files import File

SLOW: Point[int] = Point("slow flush")
"""A flush of the log takes so many milliseconds of the cluster's time."""
FLUSH: Point[Literal["lost", "failed"]] = Point("flush")
"""A flush of a file of the log does nothing, or fails."""
TEAR: Point[int | None] = Point("tear last write")
"""A kill leaves of the log's last record so many bytes; None: half, as far as its body reaches."""
TRUNCATE: Point[tuple[str, int]] = Point("truncate slave")
"""The next end of a slave cuts its log: ``to_offset`` or by ``lose_bytes``."""


class FlushFaults:
    """What may befall the flushes of one node; the two lists say whether there is anything."""

    def __init__(self, plan: FaultPlan, node: str) -> None:
        self.slow = plan.at(SLOW)
        self.flush = plan.at(FLUSH)
        self._plan = plan
        self._node = node

    def slow_ms(self) -> int:
        """How long the flush takes that is about to be made; 0 if no fault slows it."""
        placed = self._plan.choose(SLOW, Scope(node=self._node))
        if placed is None:
            return 0
        placed.hit(self._node, "a flush of the log")
        return placed.action

    def takes(self, file: File) -> bool:
        """Whether the flush of a file is not to be made. StoreError if it is to fail."""
        if not file.path.startswith(f"{LOG}/"):
            return False
        placed = self._plan.choose(FLUSH, Scope(node=self._node))
        if placed is None:
            return False
        placed.hit(self._node, f"a flush of {file.path} from {file.flushed} to {file.position}")
        if placed.action == "failed":
            raise StoreError(f"{file.path}: cannot be flushed: Input/output error ({placed.what})")
        if isinstance(file, DirectoryFile):
            file.flush_is_lost = True
        return True


# -- the end of a node ----------------------------------------------------------------------------


def befall_end(broker: Broker, how: str) -> None:
    """A node is about to close its store, after a ``stop`` or a ``kill``: damage the log's end.

    A store in memory has no start that would find out: it is brought into order here.
    """
    plan, scope = broker.faults, Scope(node=broker.name)
    truncate = plan.choose(TRUNCATE, scope) if plan.at(TRUNCATE) else None
    if truncate is not None:
        _truncate(broker, truncate)
    if how == "kill" and plan.at(TEAR):
        log = broker.store.log
        last = _last_record(log)
        tear = None if last is None else plan.choose(TEAR, scope)
        if last is not None and tear is not None:
            _tear(broker, tear, *last)
    if broker.store.disk is None and broker.store.files.damaged:
        _read_again(broker)


def _truncate(broker: Broker, placed: Placed[tuple[str, int]]) -> None:
    log = broker.store.log
    name, number = placed.action
    end = log.max_offset
    start = max(log.min_offset, 0, number if name == "to_offset" else end - number)
    if start < end:
        placed.hit(broker.name, f"its log from offset {start} to {end}")
        _erase(broker, start, end)


def _tear(broker: Broker, placed: Placed[int | None], at: int, size_bytes: int) -> None:
    kept_bytes = placed.action
    if kept_bytes is None:  # what is behind the body nobody sums up: half of that may go unseen
        message = broker.store.look_message_by_offset(at)
        behind_body = size_bytes
        if message is not None:
            behind_body = record_size_bytes(message.sys_flag, len(message.body), 0, 0)
        kept_bytes = behind_body // 2
    kept_bytes = min(kept_bytes, size_bytes - 1)
    placed.hit(
        broker.name, f"the record of {size_bytes} bytes at offset {at}: {kept_bytes} are there"
    )
    _erase(broker, at + kept_bytes, broker.store.max_phy_offset)


def _last_record(log: CommitLog) -> tuple[int, int] | None:
    """Offset and size of the last record that is there as a whole; None if there is none."""
    for first, file in reversed(log.files):
        last = None
        for at, record in log.records(first, first + file.position):
            last = (at, len(record))
        if last is not None:
            return last
    return None


def _erase(broker: Broker, start: int, end: int) -> None:
    """Have zeros in the log from ``start`` to ``end``, as a disk has where nothing was written."""
    log, at = broker.store.log, start
    while at < end and (found := log.find_file(at)) is not None:
        file, first = found
        stop = min(end - first, file.position)
        file.view[at - first : stop] = bytes(stop - (at - first))
        at = log.next_file_offset(at)
    broker.store.files.damaged = True


# -- stores in memory -----------------------------------------------------------------------------


def _read_again(broker: Broker) -> None:
    """Bring a damaged store in memory into order, as the start of one in a directory does.

    Source: store/CommitLog.java#recoverAbnormally (4.9.7)
    """
    store, node, now_ms = broker.store, broker.name, broker.clock.now_ms()
    store.start_empty()

    def repaired(path: str, offset: int, cut_bytes: int, why: str) -> None:
        file = store.files.path_of(path)
        broker.journal.add(
            StoreRepaired(node=node, file=file, offset=offset, cut_bytes=cut_bytes, why=why)
        )

    nothing_safe = StoreCheckpoint(
        MemoryFiles(broker.clock).open(checkpoints.PATH, checkpoints.FILE_BYTES)
    )
    recovery = Recovery(store, repaired)
    recovery.run(now_ms, nothing_safe, clean=False)
    store.index.on_bad = repaired
    store.files.damaged = False
    broker.journal.add(
        StoreRecovered(
            node=node,
            clean=False,
            min_phy_offset=store.log.min_offset,
            max_phy_offset=store.log.max_offset,
            dispatched=recovery.dispatched,
        )
    )
