"""Finds one message of a topic by an id: by the index, else among all messages of the topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.core.inspection import PAGE, Unpacking, holders, message_view
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.message import MessageExt, decode_record

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.clock.slices import Steps
    from fakemq.core.cluster import ClusterCore
    from fakemq.core.views import Message

_SAME_ID_MOST = 64
"""How many messages of one id are looked at in the index of a broker."""


def find(core: ClusterCore, topic: str, wanted: str) -> Steps[Message | None]:
    """Return the message of ``topic`` that has a unique id or an offset id; None if none has it.

    Of several with one id, as a repeated send makes them, it is the oldest. It has no deliveries.
    """
    found: list[tuple[MessageExt, str]] = []
    for search in (_indexed, _scanned):  # not every message is indexed, and no offset id is
        for broker in list(holders(core)):
            for stored in (yield from search(broker, topic, wanted)):
                found.append((stored, broker.config.broker_name))
        if found:
            stored, name = min(found, key=lambda one: one[0].store_timestamp_ms)
            return message_view(stored, Unpacking(*PAGE).body(stored), name)
    return None


def _indexed(broker: Broker, topic: str, wanted: str) -> Steps[list[MessageExt]]:
    """Return the messages with a unique id that the broker's index knows, oldest first."""
    store = broker.store
    found: list[MessageExt] = []
    if not broker.running:  # nothing is indexed any more
        return found
    result = yield from store.query_message(topic, wanted, _SAME_ID_MOST, 0, LONG_MAX)
    for buffer in result.buffers:
        try:
            stored = decode_record(buffer)
        except RemoteProtocolError:
            continue  # it is damaged
        unit = store.queue_unit(topic, stored.queue_id, stored.queue_offset)
        # The records of a deleted topic are found, too.
        there = unit is not None and unit[0] == stored.commit_log_offset
        if there and stored.topic == topic and stored.msg_id == wanted:
            found.append(stored)
    return found


def _scanned(broker: Broker, topic: str, wanted: str) -> Steps[list[MessageExt]]:
    """Return the messages with an id in the order of queues: decode all messages of the topic."""
    found = []
    for queue_id in list(broker.store.queue_ids(topic)):
        for stored in broker.store.messages_in_queue(topic, queue_id):
            if wanted in (stored.msg_id, stored.offset_msg_id):
                found.append(stored)
            yield
    return found
