"""Messages that a test puts into a broker; they are stored like those of a producer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.errors import ConfigError, FakemqError
from fakemq.journal.journal import shortened
from fakemq.protocol.properties import (
    CLUSTER,
    INNER_MULTI_DISPATCH,
    KEYS,
    LITE_TOPIC,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)
from fakemq.store.inner_message import inner_message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.broker.broker import Broker


def seed(
    broker: Broker,
    topic: str,
    queue_id: int,
    body: bytes,
    tags: str = "",
    keys: str = "",
    more: Mapping[str, str] | None = None,
) -> int | None:
    """Store ``body``, with ``more`` properties; return its offset in the queue.

    Return None if the topic gets it only later, as a delayed message. Raise ConfigError if no
    store would accept it, FakemqError if this one refuses it now.
    """
    properties = {
        **(more or {}),
        UNIQ_CLIENT_MESSAGE_ID_KEYIDX: broker.unique_ids.create(broker.clock.now_ms()),
        CLUSTER: broker.config.broker_cluster_name,
    }
    lite = properties.get(LITE_TOPIC)
    if lite and broker.reference.has_lite_topics:
        from fakemq.protocol.v5.lite import is_parent_type, lite_queue  # most messages have none
        from fakemq.store.light_queues import why_no_light_queue

        config, queue = broker.topics.select(topic), lite_queue(topic, lite) or ""
        is_parent = config is not None and is_parent_type(config.attributes)
        if is_parent and (why := why_no_light_queue(queue)):
            raise ConfigError(f"no message can be in the lite topic {shortened(lite)}: {why}")
        properties[INNER_MULTI_DISPATCH] = queue
    if tags:
        properties[TAGS] = tags
    if keys:
        properties[KEYS] = keys
    message = inner_message(
        topic,
        queue_id,
        body,
        properties=properties,
        properties_string=broker.reference.encode_properties(properties),
        born_timestamp_ms=broker.clock.now_ms(),
        born_host=broker.store_host,
        store_host=broker.store_host,
    )
    result = broker.put(message)
    if result.append_result is None:  # otherwise it is stored, at a slave or not
        kind = ConfigError if result.status.final else FakemqError
        raise kind(f"{broker.name} did not take a message for {topic}: {result.why}")
    return result.append_result.logics_offset if message.topic == topic else None
