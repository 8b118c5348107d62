"""A message by its id, wherever in the cluster it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.commands.output import Row
    from fakemq.commands.running_cluster import RunningCluster
    from fakemq.protocol.message import MessageExt


def found_message(cluster: RunningCluster, message_id: str, topic: str | None) -> MessageExt:
    """Return the message with an offset id, or with a unique id in one topic or in any.

    Raise MQClientError if there is none.
    """
    from fakemq.client.errors import MQClientError

    by_place = _at_its_place(cluster, message_id)
    if by_place is not None and topic in (None, by_place.topic):
        return by_place
    if topic is not None:
        cluster.require_topic(topic)
    topics = [topic] if topic else cluster.topics(all_topics=True)
    found = cluster.messages(topics, message_id, unique=True)
    if not found:
        where = f"in {topic}" if topic else f"in any of {len(topics)} topics"
        where += cluster.where_known()
        hint = "" if _ID.fullmatch(message_id) else _as_key(cluster, message_id, topics)
        raise MQClientError(f"there is no message {message_id} {where}{hint}")
    # Its retries and dead letters have the same id, and so has what waits for its delay level.
    return min(found, key=lambda one: (_is_copy(one.topic), one.store_timestamp_ms))


_ID = re.compile("[0-9A-Fa-f]{32,56}")
"""A unique id or an offset id, of a host with IPv4 or IPv6."""

_MOST_NAMED = 3
"""How many messages with a key an error names, the newest."""


def _as_key(cluster: RunningCluster, key: str, topics: list[str]) -> str:
    """Return the end of an error: the messages of which this is a key, or what an id is."""
    messages = cluster.messages(topics, key, unique=False)
    found = [one for one in messages if not _is_copy(one.topic)]
    if not found:
        return "; an id is what send and tail print, a unique id or an offset id"
    names = ", ".join(f"{one.msg_id} in {one.topic}" for one in found[: -_MOST_NAMED - 1 : -1])
    more = f", and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f"; it is a key of {names}{more}: give one of these ids"


def _is_copy(topic: str) -> bool:
    from fakemq.protocol.topics import DLQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC

    return topic == SCHEDULE_TOPIC or topic.startswith((DLQ_PREFIX, RETRY_PREFIX))


def _at_its_place(cluster: RunningCluster, message_id: str) -> MessageExt | None:
    """Return the message with an offset id that names a broker of this cluster."""
    from fakemq.client.errors import MQBrokerError, MQClientError
    from fakemq.protocol.errors import RemoteProtocolError
    from fakemq.protocol.hosts import format_host
    from fakemq.protocol.message_id import decode_offset_id

    try:
        host, _ = decode_offset_id(message_id)
    except RemoteProtocolError:
        return None
    if format_host(host) not in {one.addr for one in cluster.nodes}:
        return None
    try:
        return cluster.ask(cluster.admin.view_message(message_id))
    except (MQBrokerError, MQClientError):
        return None


def broker_of(cluster: RunningCluster, message: MessageExt) -> str | None:
    """Return the name of the broker that stored a message, if a name server knows its address."""
    from fakemq.protocol.hosts import format_host

    addr = format_host(message.store_host)
    return next((one.name for one in cluster.nodes if one.addr == addr), None)


# A message as commands print it.

_OWN = ("UNIQ_KEY", "KEYS", "TAGS", "WAIT", "CLUSTER", "MSG_REGION", "TRACE_ON")
"""Properties that a row has as columns, or that are the same in nearly every message."""


def message_row(message: MessageExt, broker: str | None) -> Row:
    """Return all fields of a message; ``body`` is text, or None with ``body_hex`` if it is none."""
    text = body_text(message.body)
    row: dict[str, object] = {
        "topic": message.topic,
        "broker": broker,
        "queue_id": message.queue_id,
        "offset": message.queue_offset,
        "message_id": message.msg_id,
        "offset_id": message.offset_msg_id,
        "stored_at_ms": message.store_timestamp_ms,
        "born_at_ms": message.born_timestamp_ms,
        "born_host": "{}:{}".format(*message.born_host),
        "reconsume_times": message.reconsume_times,
        "tags": message.tags,
        "keys": message.keys,
        "properties": message.properties,
        "body_bytes": len(message.body),
        "body": text,
    }
    return row if text is not None else row | {"body_hex": message.body.hex()}


def body_text(body: bytes) -> str | None:
    """Return a body as text; None if it is not UTF-8."""
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def own_properties(message: MessageExt) -> dict[str, str]:
    """Return the properties that a person has to see: without ids, tags, keys and flags."""
    return {name: value for name, value in message.properties.items() if name not in _OWN}
