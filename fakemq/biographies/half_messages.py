"""Finds out why a half message is not committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.biographies.because import duration_text, times_text
from fakemq.errors import counted
from fakemq.events.core import (
    TransactionChecked,
    TransactionDiscarded,
    TransactionEnded,
)
from fakemq.protocol.properties import PRODUCER_GROUP, REAL_TOPIC

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.message import MessageExt


class Uncommitted(NamedTuple):
    """A half message, the topic it is for, and why it is not there."""

    stored: MessageExt
    topic: str
    reason: str
    is_rolled_back: bool = False


def uncommitted(
    core: ClusterCore, chronicle: Chronicle, record: Record, broker: Broker
) -> Uncommitted | None:
    """Return what became of the half message in a record; None if another record was made of it,
    as a commit and a check do."""
    stored = broker.store.look_message_by_offset(record[1])
    if record in chronicle.made or stored is None:
        return None
    topic = stored.properties.get(REAL_TOPIC, "")
    undecided = "half message, neither committed nor rolled back"
    for entry in chronicle.news.get(record, ()):
        event = entry.event
        if isinstance(event, TransactionEnded):
            asked = " when it was asked" if event.from_check else ""
            reason = f"half message, its producer rolled it back{asked}"
            return Uncommitted(stored, topic, reason, is_rolled_back=True)
        if isinstance(event, TransactionDiscarded):
            after = f"given up after {counted(event.times, 'check')}"
            return Uncommitted(stored, topic, f"{undecided}, {after}")
    group = stored.properties.get(PRODUCER_GROUP, "")
    made = chronicle.made_from.get(record)
    check = None if made is None else made[1].event
    asked, next_check = "no check yet", f", and is asked every {_interval_text(broker)}"
    if isinstance(check, TransactionChecked):
        asked, next_check = f"checked {times_text(check.times)}", ""
    connected = bool(broker.producers.snapshot().get(group))
    was_connected = (broker.name, group) in chronicle.producers
    if not connected and (next_check == "" or was_connected):
        why = f"no producer of group {group} is connected"
    elif core.clock.frozen:
        why = "the clock is frozen"
    else:
        # A producer that was started just now has sent no heartbeat: its broker does not know it.
        why = f"its producer has not decided{next_check}"
    return Uncommitted(stored, topic, f"{undecided} ({asked}): {why}")


def _interval_text(broker: Broker) -> str:
    return duration_text(broker.config.transaction_check_interval)
