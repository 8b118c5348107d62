"""Finds out that a new group got messages of before its first start, although it wants later ones.

This is no reason why a message is missing: only what saw too many messages asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.biographies.findings import Findings, name_of
from fakemq.events.core import LogAppended

if TYPE_CHECKING:
    from fakemq.biographies.chronicle import Chronicle
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore

_LAST = "CONSUME_FROM_LAST_OFFSET"
BEGAN_AT_0 = (
    "consumes from the last offset, and was new: while a queue has its first message a broker"
    " says that a new group begins at 0"
)


def older_than_group(
    core: ClusterCore, chronicle: Chronicle, topic: str, group: str
) -> Steps[list[str]]:
    """Return the messages of a topic that a new group received, and that are older than it.

    Source: broker/processor/ConsumerManageProcessor.java#queryConsumerOffset (4.9.7)
    """
    joined = chronicle.joined.get(group)
    infos = (broker.consumers.group(group) for broker in core.brokers.values())
    wants = {info.consume_from_where for info in infos if info is not None}
    found = Findings()
    if joined is None or _LAST not in wants:
        return []
    for record, entry in list(chronicle.appended.items()):
        yield
        event = entry.event
        assert isinstance(event, LogAppended)
        if event.topic != topic or entry.seq > joined.seq or chronicle.deletion(record):
            continue
        place = record[0], topic, event.queue_id, event.queue_offset
        commits = chronicle.commits.get(place[:3], {}).get(group, ())
        known = any(one.end_offset and one.first.seq < joined.seq for one in commits)
        stored = core.brokers[event.node].store.look_message_by_offset(record[1])
        if stored is not None and not known and chronicle.received(place, group):
            found.add(topic, f"stored before {group} began, which {BEGAN_AT_0}", name_of(stored))
    return found.lines()
