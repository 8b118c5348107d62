"""Biographies of a run that is over, from the entries of its journal alone.

What no entry shows is unknown: bodies, and the present ends of logs. A node ``broker-a-1`` is taken
for a slave of ``broker-a``, as `fakemq.config.layout` names them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from fakemq.biographies import steps
from fakemq.biographies.biography import Biography
from fakemq.biographies.chronicle import Chronicle, Record
from fakemq.biographies.nodes import Slave
from fakemq.biographies.walk import Walk, appended_name
from fakemq.clock.clock import Clock
from fakemq.events.core import LogAppended
from fakemq.journal.journal import Journal

if TYPE_CHECKING:
    from fakemq.journal.entries import Entry

_NODE = re.compile(r"(.+)-(\d+)")


def recorded_biographies(
    entries: Iterable[Entry], msg_ids: Collection[str]
) -> dict[str, list[Biography]]:
    """Return the biographies of messages by unique id: one for each time that it was sent.

    ``entries`` are all entries of a journal, oldest first. After a reset numbers begin at 1 again.
    """
    found: dict[str, list[Biography]] = {}
    wanted = frozenset(msg_ids) - {""}
    recording = _Recording(wanted, found)
    for entry in entries:
        if entry.seq <= recording.journal.last_seq:
            recording.end()
            recording = _Recording(wanted, found)
        recording.add(entry)
    recording.end()
    return found


class _Recording:
    """The entries from a start, or a reset, up to the next reset; also `Nodes` of a `Walk`."""

    def __init__(self, msg_ids: Collection[str], found: dict[str, list[Biography]]) -> None:
        self._msg_ids = msg_ids
        self._found = found
        self._clock = Clock(frozen=True)
        self._journal = Journal(self._clock, capacity=1 << 62)
        self._slaves: dict[str, dict[str, None]] = {}
        """brokerName → its slaves."""
        self._names: dict[str, str] = {}
        """Node → brokerName."""
        self._chronicle = Chronicle(self._journal, self._names)
        self._records: dict[Record, str] = {}
        """The present records of the messages → unique id."""
        self._written: set[Record] = set()

    def add(self, entry: Entry) -> None:
        """Add the next entry."""
        event = entry.event
        if event.node not in self._names:
            self._add_node(event.node)
        if isinstance(event, LogAppended):
            record: Record = (self._names[event.node], event.phy_offset)
            if record in self._records:
                self._write(record, entry)
                del self._records[record]
            if event.msg_id in self._msg_ids:
                self._records[record] = event.msg_id
        self._clock.moment_ms = entry.at_ms
        self._journal.cause = entry.cause
        self._journal.add(event)

    def end(self) -> None:
        """Write the biographies of the records that nothing has replaced."""
        for record in self._records:
            self._write(record)

    def _add_node(self, node: str) -> None:
        matched = _NODE.fullmatch(node)
        broker = self._names[node] = matched[1] if matched else node
        if matched and int(matched[2]):
            self._slaves.setdefault(broker, {})[node] = None

    def _write(self, record: Record, replaced_by: Entry | None = None) -> None:
        """Write the biography to which a record belongs, unless it is written already."""
        chronicle, msg_id = self._chronicle, self._records[record]
        chronicle.read()
        root = record
        while root in chronicle.made_from:
            root = chronicle.made_from[root][0]
        if root in self._written:
            return
        self._written.add(root)
        appended = chronicle.appended[record].event
        assert isinstance(appended, LogAppended)
        biography = Walk(self, chronicle).biography_from(root, appended_name(appended))
        if replaced_by is not None:
            gone = steps.Replaced(
                seq=replaced_by.seq,
                at_ms=replaced_by.at_ms,
                node=replaced_by.event.node,
                phy_offset=record[1],
            )
            biography = Biography(biography.name, [*biography, gone])
        self._found.setdefault(msg_id, []).append(biography)

    # -- Nodes --------------------------------------------------------------------------------

    @property
    def journal(self) -> Journal:
        return self._journal

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def has_master(self, broker_name: str) -> bool:
        return True

    def is_slave(self, node: str) -> bool:
        return node in self._slaves.get(self._names[node], ())

    def slaves(self, broker_name: str) -> Iterator[Slave]:
        for name in self._slaves.get(broker_name, ()):
            yield Slave(name, self._chronicle.replicated[name].end_offset)

    def why_missing(self, slave: str) -> str:
        return ""
