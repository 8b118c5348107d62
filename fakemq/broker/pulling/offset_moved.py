"""The message a broker stores when it sends a consumer to another offset.

One of 5.5.0 stores none: nothing there calls generateOffsetMovedEvent.

Source: broker/processor/PullMessageProcessor.java#generateOffsetMovedEvent (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.bodies.offset import OffsetMovedEvent
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    KEYS,
    TAGS,
    MadeProperties,
)
from fakemq.protocol.topics import OFFSET_MOVED_EVENT_TOPIC
from fakemq.store.inner_message import inner_message

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.protocol.headers.pull import PullMessageRequestHeader


def store_offset_moved_event(
    broker: Broker, header: PullMessageRequestHeader, new_offset: int
) -> None:
    """Store an event for consumers of OFFSET_MOVED_EVENT; a refusal is ignored."""
    group = header.consumer_group
    event = OffsetMovedEvent(
        consumer_group=group,
        message_queue=MessageQueue(
            topic=header.topic,
            broker_name=broker.config.broker_name,
            queue_id=header.queue_id,
        ),
        offset_request=header.queue_offset,
        offset_new=new_offset,
    )
    properties = MadeProperties({TAGS: group, DELAY_TIME_LEVEL: "0", KEYS: group})
    broker.put(
        inner_message(
            OFFSET_MOVED_EVENT_TOPIC,
            0,
            event.encode(),
            properties=properties,
            properties_string=broker.reference.encode_properties(properties),
            born_timestamp_ms=broker.clock.now_ms(),
            born_host=broker.store_host,
            store_host=broker.store_host,
        )
    )
