"""Finds out why a half message is not committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.biographies.because import duration_text, times_text
from fakemq.errors import counted
from fakemq.events.core import (
    HalfStored,
    TransactionChecked,
    TransactionDiscarded,
    TransactionEnded,
)
from fakemq.journal.journal import clock_text
from fakemq.protocol.properties import PRODUCER_GROUP, REAL_TOPIC

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore
    from fakemq.journal.entries import Entry
    from fakemq.protocol.message import MessageExt


class Uncommitted(NamedTuple):
    """A half message, the topic it is for, and why it is not there."""

    stored: MessageExt
    topic: str
    reason: str
    is_rolled_back: bool = False
    by_other: bool = False
    """Whether another producer than its sender rolled it back."""


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
    committed = _committed_before(chronicle, record)
    if committed is not None:
        undecided = (
            f"half message, committed at {clock_text(committed.at_ms)}, but a check had stored it"
            " again, and asks about that record: a further commit stores the message again"
        )
    for entry in chronicle.news.get(record, ()):
        event = entry.event
        if isinstance(event, TransactionEnded):
            asked = " when it was asked" if event.from_check else ""
            sender, ender = _sender(chronicle, record), chronicle.requester(entry)
            other = event.from_check and "" not in (sender, ender) and sender != ender
            reason = f"half message, its producer rolled it back{asked}"
            if other:
                reason = (
                    f"half message, sent by {sender} and rolled back by {ender}: a check asks any"
                    " producer of the group"
                )
            return Uncommitted(stored, topic, reason, is_rolled_back=True, by_other=other)
        if isinstance(event, TransactionDiscarded):
            after = f"given up after {counted(event.times, 'check')}"
            return Uncommitted(stored, topic, f"{undecided}, {after}")
    group = stored.properties.get(PRODUCER_GROUP, "")
    made = chronicle.made_from.get(record)
    check = None if made is None else made[1].event
    is_front = False
    """Whether the last check asked the front only, which had no client to ask."""
    asked, next_check = "no check yet", f", and is asked every {_interval_text(broker)}"
    if isinstance(check, TransactionChecked) and made is not None:
        asked, next_check = f"checked {times_text(check.times)}", ""
        sender, last = _sender(chronicle, record), _asked(chronicle, made[1])
        is_front = core.proxy is not None and last == _front_id()
        if "" not in (sender, last) and sender != last and not is_front:
            asked += f", the last time {last}, but {sender} has sent it"
    connected = bool(broker.producers.snapshot().get(group))
    was_connected = (broker.name, group) in chronicle.producers
    if is_front:
        why = f"no gRPC producer of topic {topic} is connected"
        if core.door is not None:
            why += f", nor one of group {group} to the proxy's remoting port"
    elif not connected and (next_check == "" or was_connected):
        why = f"no producer of group {group} is connected"
    elif core.clock.frozen:
        why = "the clock is frozen"
    else:
        # A producer that was started just now has sent no heartbeat: its broker does not know it.
        why = f"its producer has not decided{next_check}"
    return Uncommitted(stored, topic, f"{undecided} ({asked}): {why}")


def delayed_half(chronicle: Chronicle, record: Record) -> str:
    """Return the topic of a half message that has a delay level or a time, whose record is where
    messages wait for it; "" for any other record.

    Source: store/DefaultMessageStore.java#putMessage hooks, ScheduleMessageService.java
    #messageTimeup (4.9.7), broker/util/HookUtils.java#handleScheduleMessage (5.5.0)
    """
    for entry in chronicle.news.get(record, ()):
        if isinstance(entry.event, HalfStored):
            return entry.event.topic
    return ""


def _committed_before(chronicle: Chronicle, record: Record) -> Entry | None:
    """Return the commit of a half message of which a check made a record; None for none."""
    while record in chronicle.made_from:
        record = chronicle.made_from[record][0]
        for _, entry in chronicle.made.get(record, ()):
            if isinstance(entry.event, TransactionEnded):
                return entry
    return None


def _sender(chronicle: Chronicle, record: Record) -> str:
    """Return which client sent a half message first; "" if the journal does not know."""
    while record in chronicle.made_from:
        record = chronicle.made_from[record][0]
    appended = chronicle.appended.get(record)
    return "" if appended is None else chronicle.requester(appended)


def _asked(chronicle: Chronicle, check: Entry) -> str:
    """Return which producer a check asked; "" for none."""
    event = check.event
    peer = getattr(event, "peer", None) or ""
    return chronicle.asked(check) or (chronicle.client(event.node, peer) or peer if peer else "")


def _front_id() -> str:
    """Return the client id that the gRPC front has as a producer."""
    from fakemq.proxy.transactions import CLIENT_ID  # most clusters have no front

    return CLIENT_ID


def _interval_text(broker: Broker) -> str:
    return duration_text(broker.config.transaction_check_interval)
