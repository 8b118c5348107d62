"""Messages on their way into the log: how they become drafts of records, or are too large for one.

Source: store/CommitLog.java#MessageExtEncoder (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from fakemq.journal.journal import TEXT_MAX_CHARS, shortened
from fakemq.journal.noted import Names, names_of
from fakemq.protocol.batch import PART_MEMBERS, batch_parts
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.header import parse_int
from fakemq.protocol.layout.codecs import RECORD_LEAST_BYTES, RECORD_V6_MORE_BYTES
from fakemq.protocol.message import tags_code
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    INNER_MULTI_QUEUE_OFFSET,
    KEYS,
    NAME_VALUE_SEPARATOR,
    PROPERTIES_MAX_BYTES,
    PROPERTY_SEPARATOR,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    property_value,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.protocol.batch import Fields
    from fakemq.store.inner_message import InnerMessage, RecordDraft
    from fakemq.store.puts import PutMessageResult

ENCODING_RESERVE_BYTES: Final = 64 * 1024
"""How much larger than maxMessageSize a whole record may be."""

_ILLEGAL: Final = PutMessageStatus.MESSAGE_ILLEGAL
_SEPARATOR: Final = PROPERTY_SEPARATOR.encode()
_SEPARATOR_BYTE: Final = ord(PROPERTY_SEPARATOR)
_TAGS_NAME: Final = TAGS.encode()
_OFFSETS_OF_QUEUES: Final = INNER_MULTI_QUEUE_OFFSET.encode()
_V6_FLAGS: Final = MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6

BATCH_MAX_MESSAGES: Final = 50_000
"""Java's limit is the size alone. RocketMQ's own example of batches sends some 13,000 messages in
1 MB. The records of a batch are appended together, and no other peer is answered meanwhile: 1.5 µs
a message. What is before and after that is done in slices."""


class PutListener(Protocol):
    """Decides with the store when a put is safe: its disk, the replication of its broker."""

    def stored(self, message: InnerMessage, result: PutMessageResult) -> None:
        """Write into ``result`` what the sender of a message has to wait for, if for anything.

        Called for each put whose records are in the log and in their queue.
        """


def draft_message(
    message: InnerMessage, max_message_size: int
) -> list[RecordDraft] | PutMessageStatus:
    """Return the one record that a message becomes, or why it cannot be stored."""
    body, plain = message.body, message.plain
    properties: bytes
    code: int
    msg_id: str
    has_keys: bool
    if plain is not None:
        properties, code, msg_id, has_keys, _ = plain
    else:
        properties = message.properties_string.encode("utf-8", "replace")
        if len(properties) > PROPERTIES_MAX_BYTES:
            return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
        known = message.properties
        code, has_keys = tags_code(known.get(TAGS)), KEYS in known
        msg_id = known.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, "")
    empty_bytes = set_host_flags(message) + len(message.topic.encode())
    size_bytes = empty_bytes + len(body) + len(properties)
    if size_bytes > max_message_size + ENCODING_RESERVE_BYTES:
        return _ILLEGAL
    names: Names
    if has_keys:
        names = _names_in(properties)
    else:
        names = msg_id if len(msg_id) <= TEXT_MAX_CHARS else shortened(msg_id)
    return [(message.flag, body, properties, size_bytes, code, names)]


def draft_batch(
    batch: InnerMessage, max_message_size: int, most_bytes: int, *, multi_dispatch: bool = False
) -> Steps[list[RecordDraft] | PutMessageStatus]:
    """Return the records of a batch, or why it cannot be stored, in steps.

    Each record has its own properties first, then those of the batch. A body that is no batch is an
    UNKNOWN_ERROR: what Java throws there has the same effect.
    Records of over ``most_bytes`` together are illegal, before more of them are made.
    Messages of a batch get no offsets in queues that they name. Differs: a batch of over
    `BATCH_MAX_MESSAGES` is illegal, and with ``multi_dispatch`` one with offsets of its own, which
    Java believes.
    Source: store/CommitLog.java#asyncPutMessages, #encode (4.9.7)
    """
    if (
        len(batch.body) > max_message_size
        or batch.sys_flag & MessageSysFlag.TRANSACTION_MASK
        or parse_int(batch.properties.get(DELAY_TIME_LEVEL, "0")) > 0
    ):
        return _ILLEGAL
    empty_bytes = set_host_flags(batch) + len(batch.topic.encode())
    batch.prepared_transaction_offset = 0
    common = batch.properties_string.encode("utf-8", "replace")
    drafts: list[RecordDraft] = []
    number, total_bytes = 0, 0
    longest_bytes = len(common)  # each member has at least the properties of the batch
    try:
        for part in batch_parts(batch.body):
            number += len(part)
            if number > BATCH_MAX_MESSAGES:
                return _ILLEGAL
            if len(part) == PART_MEMBERS:
                yield
            total_bytes += len(part) * (empty_bytes + len(common))
            if longest_bytes > PROPERTIES_MAX_BYTES or total_bytes > most_bytes:
                continue  # what is no batch is found first, as in Java
            drafted, most_properties_bytes = _draft_part(part, empty_bytes, common)
            drafts += drafted
            longest_bytes = max(longest_bytes, most_properties_bytes)
            if multi_dispatch and any(_OFFSETS_OF_QUEUES in draft[2] for draft in drafted):
                return _ILLEGAL
    except RemoteProtocolError:
        return PutMessageStatus.UNKNOWN_ERROR
    if longest_bytes > PROPERTIES_MAX_BYTES:
        return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
    return _ILLEGAL if total_bytes > most_bytes else drafts


def _draft_part(
    part: list[Fields], empty_bytes: int, common: bytes
) -> tuple[list[RecordDraft], int]:
    """Return the records of some members of a batch, and the bytes of the longest properties.

    The properties of the batch, ``common``, are behind those of each member.
    """
    behind = _SEPARATOR + common if common else b""
    # `in` would look for a number first, which raises. The name of another property takes time.
    names = b"".join([own for _, _, _, _, own in part])
    tagged = names.find(_TAGS_NAME) >= 0 or common.find(_TAGS_NAME) >= 0
    longest_bytes = 0
    drafts: list[RecordDraft] = []
    for flag, body_bytes, body, own_bytes, own in part:
        properties = own + (behind if own_bytes and own[-1] != _SEPARATOR_BYTE else common)
        properties_bytes = len(properties)
        if properties_bytes > longest_bytes:
            longest_bytes = properties_bytes
        drafts.append(
            (
                flag,
                body,
                properties,
                empty_bytes + body_bytes + properties_bytes,
                _code_in(properties) if tagged else 0,
                _names_in(properties),
            )
        )
    return drafts, longest_bytes


def _names_in(properties: bytes) -> bytes:
    """Return the properties themselves if they are short enough to be kept; else id and keys."""
    if len(properties) <= TEXT_MAX_CHARS:
        return properties
    named = zip((UNIQ_CLIENT_MESSAGE_ID_KEYIDX, KEYS), names_of(properties), strict=True)
    short = (f"{name}{NAME_VALUE_SEPARATOR}{shortened(value)}" for name, value in named if value)
    return PROPERTY_SEPARATOR.join(short).encode("utf-8", "replace")


def _code_in(properties: bytes) -> int:
    """Return the tags code of a record with these properties."""
    return tags_code(property_value(properties.decode("utf-8", "replace"), TAGS))


def set_host_flags(message: InnerMessage) -> int:
    """Set the flags that say which hosts have IPv6 addresses; return the size of an empty record.

    A client may have set the flags for its own hosts. Java then writes an unreadable record.
    """
    sys_flag, size_bytes = message.sys_flag & ~_V6_FLAGS, RECORD_LEAST_BYTES
    if ":" in message.born_host[0]:
        sys_flag |= MessageSysFlag.BORNHOST_V6
        size_bytes += RECORD_V6_MORE_BYTES
    if ":" in message.store_host[0]:
        sys_flag |= MessageSysFlag.STOREHOSTADDRESS_V6
        size_bytes += RECORD_V6_MORE_BYTES
    if sys_flag != message.sys_flag:
        message.sys_flag = sys_flag
    return size_bytes
