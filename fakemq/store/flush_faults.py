"""What faults do to the flushes of one node: a flush is slow, lost or fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import StoreError
from fakemq.faults.plan import Scope
from fakemq.faults.points import FLUSH, SLOW_FLUSH
from fakemq.store.commitlog import FOLDER as LOG
from fakemq.store.directory_file import DirectoryFile

if TYPE_CHECKING:
    from fakemq.faults.plan import FaultPlan
    from fakemq.store.files import File


class FlushFaults:
    """The faults of one node's flushes; both lists are empty as a rule."""

    def __init__(self, plan: FaultPlan, node: str) -> None:
        self.slow = plan.at(SLOW_FLUSH)
        self.flush = plan.at(FLUSH)
        self._plan = plan
        self._node = node

    def slow_ms(self) -> int:
        """Return how long the next flush takes; 0 if no fault slows it."""
        placed = self._plan.choose(SLOW_FLUSH, Scope(node=self._node))
        if placed is None:
            return 0
        placed.hit(self._node, "a flush of the log")
        return placed.action

    def takes(self, file: File) -> bool:
        """Return whether a fault loses the flush; raise StoreError if it fails the flush."""
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
