"""What a broker's own store says of requests that name a stored message by its place."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from fakemq.broker.acl.rights import Rights
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.message import decode_record
from fakemq.protocol.properties import REAL_TOPIC
from fakemq.protocol.timers import TIMER_TOPIC
from fakemq.protocol.topics import SCHEDULE_TOPIC, TRANS_HALF_TOPIC
from fakemq.reference import V4_9_7

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker

_WAITING = frozenset({SCHEDULE_TOPIC, TRANS_HALF_TOPIC, TIMER_TOPIC})
"""Topics in which messages wait that belong to another one."""


def rights_at(broker: Broker) -> Rights:
    """Return what requests to a broker ask for."""
    v5 = broker.reference.name != V4_9_7.name
    return Rights(v5=v5, stored=partial(stored_topic, broker))


def stored_topic(broker: Broker, offset: int) -> str | None:
    """Return the topic to which the record at an offset of the log belongs.

    None: there is no record; "": there are bytes that are no record.
    """
    record = broker.store.select_one_message_by_offset(offset)
    if record is None:
        return None
    try:
        message = decode_record(record)
    except RemoteProtocolError:
        return ""
    place = message.topic, message.queue_id, message.queue_offset
    if not broker.store.has_record_at(offset, *place):
        return ""  # a producer wrote it, as a part of its own bodies
    if message.topic in _WAITING:
        return message.properties.get(REAL_TOPIC, message.topic)
    return message.topic
