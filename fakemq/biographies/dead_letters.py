"""Finds out that a message is a dead letter, or why it is none, and what its retries become."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.commits import has_acked
from fakemq.biographies.findings import Findings
from fakemq.events.core import DeadLettered, Delivered, SentBack
from fakemq.protocol.properties import RETRY_TOPIC
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, dlq_topic

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.clock.slices import Steps
    from fakemq.protocol.message import MessageExt


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


def add_dead(
    chronicle: Chronicle,
    record: Record,
    stored: MessageExt | None,
    wants: Callable[[str], bool],
    group: str | None,
    found: Findings,
    name: str,
) -> None:
    """Add a message that its group gave up, and a dead letter that a group sent back.

    ``stored`` is None if it cannot be read any more. ``group`` limits them to one group.

    Of a wanted DLQ the messages are findings of their own. The retries of a dead letter have the
    topic to which it was sent first. Source:
    client/impl/consumer/DefaultMQPushConsumerImpl.java#resetRetryAndNamespace (4.9.7)
    """
    topic: str = getattr(chronicle.appended[record].event, "topic", "")
    first = topic if stored is None else stored.properties.get(RETRY_TOPIC, topic)
    for _, entry in chronicle.made[record]:
        event = entry.event
        if not isinstance(event, DeadLettered | SentBack) or group not in (None, event.group):
            continue
        if isinstance(event, DeadLettered):
            dlq = dlq_topic(event.group)
            if not wants(dlq):
                why = f"a dead letter of {event.group}, which gave it up: it is in {dlq}"
                found.add(_before_retries(chronicle, record, topic), why, name)
        elif topic.startswith(DLQ_PREFIX) and topic != first:
            why = (
                f"sent back by {event.group}: its retries have the topic {first}, to which it was"
                f" sent first (RETRY_TOPIC), not {topic}"
            )
            found.add(topic, why, name)


def _before_retries(chronicle: Chronicle, record: Record, topic: str) -> str:
    """Return the topic from which a group took a message first, if this is a retry."""
    before = topic
    while before.startswith((RETRY_PREFIX, SCHEDULE_TOPIC)) and record in chronicle.made_from:
        record = chronicle.made_from[record][0]
        appended = chronicle.appended.get(record)
        before = "" if appended is None else getattr(appended.event, "topic", "")
    return before or topic
