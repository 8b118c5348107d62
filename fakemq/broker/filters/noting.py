"""What an answer to a pull or a pop says about its filter, for the journal.

A broker compares hashes of tags, and a client compares the tags themselves again: what only has the
hash is in the answer, and no listener gets it.

Source: client/impl/consumer/PullAPIWrapper.java#processPullResult (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events.filters import PassedOver, TagCollided
from fakemq.journal.journal import shortened
from fakemq.protocol.java import java_string_hash
from fakemq.protocol.message import record_properties
from fakemq.protocol.properties import TAGS
from fakemq.protocol.subscription import is_tag_type
from fakemq.store.results import GetMessageStatus, found_records

if TYPE_CHECKING:
    from fakemq.journal.journal import Journal
    from fakemq.protocol.bodies.heartbeat import SubscriptionData
    from fakemq.store.results import GetMessageResult

_READ = (GetMessageStatus.FOUND, GetMessageStatus.NO_MATCHED_MESSAGE)
"""Entries were compared with the filter."""


def note_filtered(
    journal: Journal,
    node: str,
    subscription: SubscriptionData,
    result: GetMessageResult,
    *,
    group: str,
    topic: str,
    queue_id: int,
    queue_offset: int,
    peer: str,
) -> None:
    """Write what a read from ``queue_offset`` on went past, and what the client will drop.

    ``subscription`` is that of the filter.
    """
    if result.status not in _READ:
        return
    expression = shortened(subscription.sub_string or "")
    group, topic = shortened(group), shortened(topic)
    passed = result.next_begin_offset - queue_offset - result.message_count
    if passed > 0:
        journal.add(
            PassedOver(
                node=node,
                group=group,
                topic=topic,
                queue_id=queue_id,
                queue_offset=queue_offset,
                next_offset=result.next_begin_offset,
                count=passed,
                expression=expression,
                peer=peer,
            )
        )
    if not is_tag_type(subscription.expression_type) or not result.message_count:
        return
    tags = frozenset(subscription.tags_set)
    for offset, record in found_records(result) if tags else ():
        tag = record_properties(record).get(TAGS)
        if tag not in tags:
            code = None if tag is None else java_string_hash(tag)
            hashes = [one for one in tags if java_string_hash(one) == code]
            journal.add(
                TagCollided(
                    node=node,
                    group=group,
                    topic=topic,
                    queue_id=queue_id,
                    queue_offset=offset,
                    tag=shortened(tag or ""),
                    same_as=shortened(min(hashes, default="")),
                    expression=expression,
                    peer=peer,
                )
            )
