"""Finds out that the reply to a message could not be pushed, so that its consumer fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.biographies.because import times_text
from fakemq.biographies.findings import name_of
from fakemq.errors import printable
from fakemq.journal.journal import shortened
from fakemq.protocol.properties import CORRELATION_ID
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.biographies.findings import Findings
    from fakemq.protocol.message import MessageExt


def add_failed_replies(chronicle: Chronicle, stored: MessageExt, found: Findings) -> None:
    """Add a request message of which a reply could not be pushed to its requester."""
    if not chronicle.failed_replies or stored.topic.startswith(RETRY_PREFIX):
        return
    entries = chronicle.failed_replies.get(shortened(stored.properties.get(CORRELATION_ID, "")), ())
    if entries:
        why = getattr(entries[-1].event, "why", "")
        found.add(
            stored.topic,
            f"its reply was refused {times_text(len(entries))}: {printable(why)} A requester that"
            " has gone, or has given up, gets no reply, and a listener that raises for it gets the"
            " message again",
            name_of(stored),
        )
