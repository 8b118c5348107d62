"""A message as commands print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.commands.output import Row
    from fakemq.protocol.message import MessageExt

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
