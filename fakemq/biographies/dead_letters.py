"""Finds out that a message is no dead letter because its group has acknowledged it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.commits import has_acked
from fakemq.biographies.findings import Findings
from fakemq.events.core import Delivered

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.clock.slices import Steps


def not_sent_back(
    chronicle: Chronicle, group: str, name: Callable[[Record], str]
) -> Steps[list[str]]:
    """Return the messages that a group has received and acknowledged, and never sent back."""
    found = Findings()
    for place, deliveries in list(chronicle.delivered.items()):
        yield
        record = chronicle.record_at(*place)
        if record is None or record in chronicle.made:
            continue
        if not any(
            isinstance(one.event, Delivered) and one.event.group == group for one in deliveries
        ):
            continue
        if has_acked(chronicle, place, group):
            found.add(
                place[1],
                f"acknowledged by {group}, so it comes neither again nor to the DLQ: a consumer"
                " sends back a message whose function raises an error or asks for a retry",
                name(record),
            )
    return found.lines()
