"""Finds out what breaks the order of messages: kills, and queues that a key does not decide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from fakemq.biographies.because import times_text
from fakemq.biographies.findings import Findings
from fakemq.errors import counted, printable
from fakemq.events.core import LogAppended
from fakemq.journal.journal import clock_text
from fakemq.protocol.properties import SHARDING_KEY
from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle, Record
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore

_KEYS_AT_MOST = 3
_OTHERS = (RETRY_PREFIX, DLQ_PREFIX)


def order_lost(
    chronicle: Chronicle,
    wants: Callable[[str], bool],
    group: str | None,
    name: Callable[[Record], str],
) -> Steps[list[str]]:
    """Return the messages that groups popped in order, and could pop again after a kill."""
    found = Findings()
    for place, deliveries in list(chronicle.delivered.items()) if chronicle.pops.lost else ():
        yield
        record = chronicle.record_at(*place)
        if record is None or not wants(place[1]):
            continue
        for kill, one in chronicle.pops.lost_with(deliveries, place):
            if group in (None, one):
                why = (
                    f"popped in order by {one}, and free again: the kill of {kill.event.node} at"
                    f" {clock_text(kill.at_ms)} lost that, as consumerOrderInfo.json is written"
                    " later"
                )
                found.add(place[1], why, name(record))
    return found.lines()


def split_keys(
    core: ClusterCore, chronicle: Chronicle, wants: Callable[[str], bool]
) -> Steps[list[str]]:
    """Return one line for each message group, or sharding key, whose messages are in several
    queues: no consumer gets these in order.

    A send of several messages over gRPC takes no notice of their message groups. Source:
    proxy/grpc/v2/producer/SendMessageActivity.java, SendMessageQueueSelector#select (5.5.0)
    """
    queues: dict[tuple[str, str], dict[tuple[str, int], int]] = defaultdict(dict)
    causes: dict[tuple[str, str], set[int]] = defaultdict(set)
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    for record, entry in list(chronicle.appended.items()):
        yield
        event = entry.event
        assert isinstance(event, LogAppended)
        if not wants(event.topic) or event.topic.startswith(_OTHERS) or chronicle.deletion(record):
            continue
        stored = core.brokers[event.node].store.look_message_by_offset(record[1])
        key = None if stored is None else stored.properties.get(SHARDING_KEY)
        if key:
            queues[event.topic, key][record[0], event.queue_id] = entry.seq
            numbers[event.topic, key] += 1
            causes[event.topic, key].add(entry.cause)
    lines = []
    several = [key for key, found in queues.items() if len(found) > 1]
    for topic, key in several[:_KEYS_AT_MOST]:
        where = ", ".join(f"{broker}/{queue_id}" for broker, queue_id in queues[topic, key])
        number = numbers[topic, key]
        why = "its topic got other queues meanwhile"
        if len(causes[topic, key]) < number:
            why = "a send of several messages takes no notice of it: send one message at a time"
        lines.append(
            f"{counted(number, 'message')} of {topic} with the message group {key!r} are in"
            f" {counted(len(queues[topic, key]), 'queue')} ({where}), so their order is lost: {why}"
        )
    if len(several) > _KEYS_AT_MOST:
        lines.append(f"{times_text(len(several) - _KEYS_AT_MOST)} more message groups are split")
    return [*map(printable, lines)]
