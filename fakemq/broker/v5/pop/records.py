"""What the records of the revive topic say: their JSON, their keys, and which belong together.

A pop and an acknowledgement write one each, so their usual form is made at once here, apart from
the classes of `fakemq.protocol.bodies.pop`, which have fields of any form.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from fakemq.protocol.bodies.pop import AckMsg
from fakemq.protocol.pop import ACK_TAG, CK_TAG
from fakemq.protocol.properties import (
    NAME_VALUE_SEPARATOR,
    PROPERTY_SEPARATOR,
    TAGS,
    TIMER_DELIVER_MS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
)

if TYPE_CHECKING:
    from fakemq.protocol.bodies.pop import PopCheckPoint

MergeKey: TypeAlias = tuple[object, ...]
"""What an acknowledgement and its checkpoint have in common. As a tuple of six, each use of it in
compiled code would make a new one."""

_FIRST: Final = [0]
"""The distances of a single message."""
_plain: Final = re.compile(r"[%|a-zA-Z0-9_-]+").fullmatch


_CHECKPOINT: Final = (
    b'{"bm":%%d,"bn":"%s","c":"%s","d":[%%b],"it":%%d,"n":%%d,"pt":%%d,"q":%%d,"reviveTime":%%d,'
    b'"ro":%%d,"so":%%d,"sp":%%b,"t":"%s"}'
)
_ACK: Final = b'{"ao":%%d,"bn":"%s","c":"%s","pt":%%d,"q":%%d,"so":%%d,"t":"%s"}'


@lru_cache(maxsize=256)
def _form(
    text: bytes, broker_name: str | None, group: str | None, topic: str | None
) -> bytes | None:
    """Return a text with these names; None if JSON does not have them as they are."""
    names = [broker_name, group, topic]
    if not all(name is not None and _plain(name) is not None for name in names):
        return None
    return text % tuple(str(name).replace("%", "%%").encode() for name in names)


def checkpoint_json(ck: PopCheckPoint) -> bytes:
    """Return the JSON of a checkpoint."""
    diffs = ck.queue_offset_diff
    form = _form(_CHECKPOINT, ck.broker_name, ck.group, ck.topic)
    if form is None or diffs is None or ck.re_put_times is not None:
        return ck.encode()
    return form % (
        ck.bit_map,
        b"0" if diffs == _FIRST else b",".join([b"%d" % one for one in diffs]),
        ck.invisible_time,
        ck.num,
        ck.pop_time,
        ck.queue_id,
        ck.revive_time,
        ck.revive_offset,
        ck.start_offset,
        b"true" if ck.suspend else b"false",
    )


def ack_json(ack: AckMsg) -> bytes:
    """Return the JSON of an acknowledgement, or of several."""
    form = _form(_ACK, ack.broker_name, ack.group, ack.topic) if type(ack) is AckMsg else None
    if form is None:
        return ack.encode()
    return form % (ack.ack_offset, ack.pop_time, ack.queue_id, ack.start_offset)


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
