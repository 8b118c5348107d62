"""What of a message goes into its records, and whether it may go there at all.

Source: store/CommitLog.java#MessageExtEncoder, store/DefaultMessageStore.java#checkMessage (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fakemq.protocol.batch import decode_batch, member_properties
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.header import parse_int
from fakemq.protocol.message import TOPIC_MAX_BYTES, record_size_bytes
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    PROPERTIES_MAX_BYTES,
    decode_properties,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from fakemq.store.delay_levels import DelayLevels
    from fakemq.store.inner_message import InnerMessage

Member: TypeAlias = tuple[int, bytes, bytes, dict[str, str], int]
"""What the records of one batch differ in: flag, body, properties (twice), size of the record."""

ENCODING_RESERVE_BYTES = 64 * 1024
"""What a record may have on top of a body of maxMessageSize."""

_ILLEGAL = PutMessageStatus.MESSAGE_ILLEGAL
_V6_FLAGS = MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6


def members_of_message(
    message: InnerMessage, max_message_size: int, delay_levels: DelayLevels
) -> list[Member] | PutMessageStatus:
    """The one member that a message is to the log, or why it is refused.

    One that is delayed is a message of the schedule topic from here on.
    """
    body = message.body
    if (
        len(message.topic) > TOPIC_MAX_BYTES
        or len(message.properties_string) > PROPERTIES_MAX_BYTES
        or len(body) > max_message_size
    ):
        return _ILLEGAL
    delay_levels.divert(message)
    properties = message.properties_string.encode("utf-8", "replace")
    if len(properties) > PROPERTIES_MAX_BYTES:
        return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
    _set_host_flags(message)
    topic_bytes = len(message.topic.encode())
    size_bytes = record_size_bytes(message.sys_flag, len(body), topic_bytes, len(properties))
    # Java looks at the characters only, and writes a longer topic so that nobody can read it.
    if topic_bytes > TOPIC_MAX_BYTES or size_bytes > max_message_size + ENCODING_RESERVE_BYTES:
        return _ILLEGAL
    return [(message.flag, body, properties, message.properties, size_bytes)]


def members_of_batch(batch: InnerMessage, max_message_size: int) -> list[Member] | PutMessageStatus:
    """The members of a batch, each with the batch's properties behind its own.

    A body that is no batch is an UNKNOWN_ERROR, as what Java throws comes to the same.
    Source: store/CommitLog.java#asyncPutMessages, #encode (4.9.7)
    """
    topic_bytes = len(batch.topic.encode())
    if (
        topic_bytes > TOPIC_MAX_BYTES
        or len(batch.body) > max_message_size
        or batch.sys_flag & MessageSysFlag.TRANSACTION_MASK
        or parse_int(batch.properties.get(DELAY_TIME_LEVEL, "0")) > 0
    ):
        return _ILLEGAL
    try:
        decoded = decode_batch(batch.body)
    except RemoteProtocolError:
        return PutMessageStatus.UNKNOWN_ERROR
    _set_host_flags(batch)
    batch.prepared_transaction_offset = 0
    common = batch.properties_string.encode("utf-8", "replace")
    members: list[Member] = []
    for body, own, flag in decoded:
        properties = member_properties(own, common)
        if len(properties) > PROPERTIES_MAX_BYTES:
            return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
        mapping = decode_properties(properties.decode("utf-8", "replace"))
        size_bytes = record_size_bytes(batch.sys_flag, len(body), topic_bytes, len(properties))
        members.append((flag, body, properties, mapping, size_bytes))
    return members


def _set_host_flags(message: InnerMessage) -> None:
    # A client may have set them for hosts of its own: Java then writes a record nobody can read.
    sys_flag = message.sys_flag & ~_V6_FLAGS
    if ":" in message.born_host[0]:
        sys_flag |= MessageSysFlag.BORNHOST_V6
    if ":" in message.store_host[0]:
        sys_flag |= MessageSysFlag.STOREHOSTADDRESS_V6
    message.sys_flag = sys_flag
