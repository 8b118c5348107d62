"""What of a message goes into its records, and whether it may go there at all.

Source: store/CommitLog.java#MessageExtEncoder, store/DefaultMessageStore.java#checkMessage (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.hosts import V4_HOST_BYTES, pack_host
from fakemq.protocol.layout.twins import parse_batch_member
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    PROPERTIES_MAX_BYTES,
    PROPERTY_SEPARATOR,
    decode_properties,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from fakemq.store.inner_message import InnerMessage

Member: TypeAlias = tuple[int, bytes, bytes, dict[str, str], int]
"""What the records of one batch differ in: flag, body, properties (twice), size of the record."""

MAX_TOPIC_LENGTH = 127
ENCODING_RESERVE_BYTES = 64 * 1024
"""What a record may have on top of a body of maxMessageSize."""
FIXED_BYTES = 75
"""A record without hosts, body, topic and properties."""

_ILLEGAL = PutMessageStatus.MESSAGE_ILLEGAL
_SEPARATOR = PROPERTY_SEPARATOR.encode()


def encode_one(message: InnerMessage, max_message_size: int) -> list[Member] | PutMessageStatus:
    """The one member that a message is to the log, or why it is refused."""
    body = message.body
    if (
        len(message.topic) > MAX_TOPIC_LENGTH
        or len(message.properties_string) > PROPERTIES_MAX_BYTES
        or len(body) > max_message_size
    ):
        return _ILLEGAL
    properties = message.properties_string.encode()
    if len(properties) > PROPERTIES_MAX_BYTES:
        return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
    size_bytes = _frame_bytes(message) + len(body) + len(properties)
    if size_bytes > max_message_size + ENCODING_RESERVE_BYTES:
        return _ILLEGAL
    return [(message.flag, body, properties, message.properties, size_bytes)]


def encode_batch(batch: InnerMessage, max_message_size: int) -> list[Member] | PutMessageStatus:
    """The members of a batch, each with the batch's properties behind its own.

    A body that is no batch is an UNKNOWN_ERROR, as what Java throws comes to the same.
    Source: store/CommitLog.java#asyncPutMessages, #encode (4.9.7)
    """
    if (
        len(batch.topic) > MAX_TOPIC_LENGTH
        or len(batch.body) > max_message_size
        or batch.sys_flag & MessageSysFlag.TRANSACTION_MASK
        or _delay_level(batch) > 0
    ):
        return _ILLEGAL
    batch.prepared_transaction_offset = 0
    common = batch.properties_string.encode()
    frame_bytes = _frame_bytes(batch)
    members: list[Member] = []
    at = 0
    while at < len(batch.body):
        try:
            _, _, _, flag, body, own, at = parse_batch_member(batch.body, at)
        except RemoteProtocolError:
            return PutMessageStatus.UNKNOWN_ERROR
        separator = _SEPARATOR if own and common and not own.endswith(_SEPARATOR) else b""
        properties = own + separator + common
        if len(properties) > PROPERTIES_MAX_BYTES:
            return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
        mapping = decode_properties(properties.decode("utf-8", "replace"))
        size_bytes = frame_bytes + len(body) + len(properties)
        members.append((flag, body, properties, mapping, size_bytes))
    return members


def _frame_bytes(message: InnerMessage) -> int:
    # A record without body and properties; in passing, the bits for long hosts are set.
    born_bytes = len(pack_host(message.born_host))
    store_bytes = len(pack_host(message.store_host))
    if born_bytes != V4_HOST_BYTES:
        message.sys_flag |= MessageSysFlag.BORNHOST_V6
    if store_bytes != V4_HOST_BYTES:
        message.sys_flag |= MessageSysFlag.STOREHOSTADDRESS_V6
    return FIXED_BYTES + born_bytes + store_bytes + len(message.topic.encode())


def _delay_level(message: InnerMessage) -> int:
    # Java's Integer.parseInt would throw; a batch with such a value is refused all the same.
    level = message.properties.get(DELAY_TIME_LEVEL, "0")
    return int(level) if level.lstrip("-").isdecimal() else 1
