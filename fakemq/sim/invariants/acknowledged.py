"""Under controllers SEND_OK is a promise: each later master has the message, at its offset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

from fakemq.sim.history import Violation

if TYPE_CHECKING:
    from fakemq.events.core import LogAppended
    from fakemq.sim.events import Sent
    from fakemq.sim.invariants.holes import RecordOrigin

NAME = "SEND_OK is kept by every later master"
SEND_OK = "SEND_OK"

IsExcused: TypeAlias = Callable[["RecordOrigin"], bool]
"""True if what a master acknowledged may be lost."""


class PromisedLog(Protocol):
    """A store, as `Promises` reads it."""

    def select_one_message_by_offset(self, phy_offset: int) -> memoryview | None:
        """Return the record at an offset; None if there is none."""


def has_message(store: PromisedLog, phy_offset: int, msg_id: str) -> bool:
    """Return whether the record at an offset is that of a message."""
    record = store.select_one_message_by_offset(phy_offset)
    return record is not None and msg_id.encode() in bytes(record)


class Promises:
    """The messages with a SEND_OK, and the masters that acknowledged them."""

    def __init__(self, is_excused: IsExcused) -> None:
        self._is_excused = is_excused
        self._promised: dict[str, list[Sent]] = {}
        """By brokerName; without those that were missing once."""
        self._origins: dict[tuple[str, int], RecordOrigin] = {}

    def stored(self, origin: RecordOrigin, appended: LogAppended) -> None:
        """Take that a master has put a message into its log."""
        self._origins[appended.msg_id, appended.phy_offset] = origin

    def promise(self, sent: Sent) -> None:
        """Take a SEND_OK."""
        self._promised.setdefault(sent.broker, []).append(sent)

    def missing(
        self, broker_name: str, node: str, what: str, store: PromisedLog
    ) -> Iterator[Violation]:
        """Yield the messages that a group has promised and ``node``, its ``what``, lacks."""
        kept = []
        for sent in self._promised.get(broker_name, ()):
            if has_message(store, sent.phy_offset, sent.msg_id):
                kept.append(sent)
                continue
            origin = self._origins.get((sent.msg_id, sent.phy_offset))
            if origin is None or not self._is_excused(origin):
                by = None if origin is None else origin.node
                text = (
                    f"{sent.key} ({sent.msg_id}) was answered SEND_OK by {by}, offset"
                    f" {sent.phy_offset} of its log; {node}, {what}, does not have it there"
                )
                yield Violation(NAME, text, (sent.key, sent.msg_id))
        self._promised[broker_name] = kept
