"""Findings of a diagnosis: some messages and one reason, each one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import printable
from fakemq.protocol.properties import KEYS, UNIQ_CLIENT_MESSAGE_ID_KEYIDX

if TYPE_CHECKING:
    from fakemq.events.core import LogAppended
    from fakemq.protocol.message import MessageExt

NAMED_AT_MOST = 3
"""How many messages a finding names; of the others it shows the number."""


class Findings:
    """Findings: messages grouped by topic and reason, in the order of their first message."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, str], list[str]] = {}
        """(topic, reason) → names of messages."""

    def add(self, topic: str, reason: str, name: str) -> None:
        self._names.setdefault((topic, reason), []).append(name)

    def lines(self) -> list[str]:
        """Return one line for each topic and reason, with at most `NAMED_AT_MOST` names."""
        return [
            printable(f"{_names(topic, names)}: {reason}")
            for (topic, reason), names in self._names.items()
        ]


def _names(topic: str, names: list[str]) -> str:
    shown = ", ".join(names[:NAMED_AT_MOST])
    if len(names) == 1:
        return f"{shown} of {topic}"
    more = ", …" if len(names) > NAMED_AT_MOST else ""
    return f"{len(names)} messages of {topic} ({shown}{more})"


def name_of(stored: MessageExt) -> str:
    """Return the name that a test knows a message by: its keys, or the beginning of its body."""
    return stored.properties.get(KEYS) or repr(stored.body[:40])


def name_of_appended(event: LogAppended, stored: MessageExt | None) -> str:
    """Return the same name of an appended message, of which the journal has keys and id alone.

    ``stored`` is what its broker has at its offset now: perhaps nothing, or another message.
    """
    if stored is not None and event.msg_id in (
        "",
        stored.properties.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX),
    ):
        return name_of(stored)
    return event.keys or event.msg_id or f"the record at {event.phy_offset}"
