"""What the records of the revive topic say: their JSON, their keys, and which belong together.

A pop and an acknowledgement write one each, so their usual form is made at once here, apart from
the classes of `fakemq.protocol.bodies.pop`, which have fields of any form.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.protocol.bodies.pop import AckMsg
from fakemq.protocol.pop import ACK_TAG, CK_TAG, TIMER_DELIVER_MS
from fakemq.protocol.properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)

if TYPE_CHECKING:
    from fakemq.protocol.bodies.pop import PopCheckPoint

MergeKey: TypeAlias = tuple[object, ...]
"""What an acknowledgement and its checkpoint have in common. As a tuple of six, each use of it in
compiled code would make a new one."""

_plain: Final = re.compile(r"[%|a-zA-Z0-9_-]+").fullmatch


@lru_cache(maxsize=256)
def are_plain(topic: str | None, group: str | None, broker_name: str | None) -> bool:
    """Return whether JSON and properties have these names as they are."""
    return all(
        text is not None and _plain(text) is not None for text in (topic, group, broker_name)
    )


def checkpoint_json(ck: PopCheckPoint) -> bytes:
    """Return the JSON of a checkpoint."""
    topic, group, broker_name = ck.topic, ck.group, ck.broker_name
    diffs = ck.queue_offset_diff
    if ck.re_put_times is not None or diffs is None or not are_plain(topic, group, broker_name):
        return ck.encode()
    suspend = "true" if ck.suspend else "false"
    return (
        f'{{"bm":{ck.bit_map},"bn":"{broker_name}","c":"{group}",'
        f'"d":[{",".join([str(one) for one in diffs])}],"it":{ck.invisible_time},"n":{ck.num},'
        f'"pt":{ck.pop_time},"q":{ck.queue_id},"reviveTime":{ck.revive_time},'
        f'"ro":{ck.revive_offset},"so":{ck.start_offset},"sp":{suspend},"t":"{topic}"}}'
    ).encode()


def ack_json(ack: AckMsg) -> bytes:
    """Return the JSON of an acknowledgement, or of several."""
    topic, group, broker_name = ack.topic, ack.group, ack.broker_name
    if type(ack) is not AckMsg or not are_plain(topic, group, broker_name):
        return ack.encode()
    return (
        f'{{"ao":{ack.ack_offset},"bn":"{broker_name}","c":"{group}","pt":{ack.pop_time},'
        f'"q":{ack.queue_id},"so":{ack.start_offset},"t":"{topic}"}}'
    ).encode()


def checkpoint_key(ck: PopCheckPoint) -> str:
    """Return the unique key of a checkpoint.

    Source: PopMessageProcessor.java#genCkUniqueId (5.5.0)
    """
    return (
        f"{ck.topic}@{ck.queue_id}@{ck.start_offset}@{_text(ck.group)}@{ck.pop_time}"
        f"@{ck.broker_name}@{CK_TAG}"
    )


def ack_key(ack: AckMsg) -> str:
    """Return the unique key of an acknowledgement.

    Source: PopMessageProcessor.java#genAckUniqueId (5.5.0)
    """
    return (
        f"{ack.topic}@{ack.queue_id}@{ack.ack_offset}@{_text(ack.group)}@{ack.pop_time}"
        f"@{_text(ack.broker_name)}@{ACK_TAG}"
    )


def _text(value: str | None) -> str:
    return "null" if value is None else value  # as Java's concatenation


def properties_text(tag: str, deliver_at_ms: str, unique_key: str) -> str:
    """Return the properties of a record, in the order of the map in which Java puts them."""
    return (
        f"{TIMER_DELIVER_MS}{NAME_VALUE_SEPARATOR}{deliver_at_ms}{PROPERTY_SEPARATOR}"
        f"{UNIQ_CLIENT_MESSAGE_ID_KEYIDX}{NAME_VALUE_SEPARATOR}{unique_key}{PROPERTY_SEPARATOR}"
        f"{TAGS}{NAME_VALUE_SEPARATOR}{tag}{PROPERTY_SEPARATOR}"
    )


def merge_key(ck: PopCheckPoint) -> MergeKey:
    """Return the key of a checkpoint."""
    return ck.topic, ck.group, ck.queue_id, ck.start_offset, ck.pop_time, ck.broker_name


def merge_key_of_ack(ack: AckMsg, own_broker_name: str) -> MergeKey:
    """Return the key of the checkpoint that an acknowledgement is for."""
    name = ack.broker_name
    if name is None or not name or name.isspace():
        name = own_broker_name
    return ack.topic, ack.group, ack.queue_id, ack.start_offset, ack.pop_time, name


def index_of_ack(ck: PopCheckPoint, offset: int) -> int:
    """Return which message of a checkpoint has this queue offset; -1 if none has.

    Source: PopCheckPoint.java#indexOfAck (5.5.0)
    """
    index = offset - ck.start_offset
    if index < 0:
        return -1
    diffs, num = ck.queue_offset_diff, max(0, ck.num)
    if not diffs:
        return index if index < num else -1
    return diffs.index(index) if index in diffs[:num] else -1


def is_done(ck: PopCheckPoint) -> bool:
    """Return whether all messages of a checkpoint are acknowledged."""
    every = (1 << max(0, ck.num)) - 1
    return ck.bit_map & every == every
