"""Which brokers were masters when, and what was cut off from their logs since.

Under controllers a master that is cut off still acknowledges beside its successor. All of that
is cut off when it comes back as a slave.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from fakemq.events.core import RoleChanged
from fakemq.events.replication import LogTruncated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.journal.entries import Entry

MOST = 1_000
"""How many changes, cuts and overwritten records are known: the newest of each."""


class Roles:
    """The changes of roles under controllers, and the cuts, oldest first."""

    def __init__(self, broker_names: Mapping[str, str]) -> None:
        self._broker_names = broker_names
        self._changes: deque[Entry] = deque(maxlen=MOST)
        self._cuts: deque[Entry] = deque(maxlen=MOST)
        # The journal may begin after the first role: a name has the id, not the role.
        self.has_controllers = any(
            node.startswith(f"{name}@") for node, name in broker_names.items()
        )
        """Whether controllers name the masters."""
        self.overwritten: deque[Entry] = deque(maxlen=MOST)
        """What stored records that are gone: another master has stored others in their place."""

    def changed(self, entry: Entry) -> None:
        """Take note of a change of a role."""
        assert isinstance(entry.event, RoleChanged)
        if entry.event.epoch:
            self._changes.append(entry)

    def truncated(self, entry: Entry) -> None:
        """Take note of a cut."""
        self._cuts.append(entry)

    def cuts(self, broker_name: str, phy_offset: int, since_seq: int) -> list[Entry]:
        """Return the cuts by which brokers of a group lost the record at an offset."""
        found = []
        for entry in self._cuts:
            event = entry.event
            assert isinstance(event, LogTruncated)
            if (
                entry.seq > since_seq
                and event.phy_offset <= phy_offset < event.end_offset
                and self._broker_names.get(event.node) == broker_name
            ):
                found.append(entry)
        return found

    def became(self, cut: Entry) -> str:
        """Return which role a broker had taken when its log was cut."""
        role = self._role(cut.event.node, cut.seq)
        if role is None:
            return ""
        what = "a slave" if role.role == "SLAVE" else "the master"
        return f"when it became {what} of epoch {role.epoch}"

    def beside(self, node: str, seq: int) -> str:
        """Return which other master its group had at a moment, of a later epoch; "" for none."""
        own = self._role(node, seq)
        name = self._broker_names.get(node)
        others = [
            entry.event
            for entry in self._changes
            if entry.seq < seq
            and isinstance(entry.event, RoleChanged)
            and self._broker_names.get(entry.event.node) == name
            and entry.event.node != node
            and entry.event.role != "SLAVE"
        ]
        last = max(others, key=lambda one: one.epoch, default=None)
        if last is None or last.epoch <= (0 if own is None else own.epoch):
            return ""
        return f"while {last.node} was the master of epoch {last.epoch}"

    def _role(self, node: str, seq: int) -> RoleChanged | None:
        for entry in reversed(self._changes):
            if entry.seq < seq and entry.event.node == node:
                assert isinstance(entry.event, RoleChanged)
                return entry.event
        return None
