"""Messages on their way into the log: how they are checked, and become drafts of records.

Source: store/CommitLog.java#MessageExtEncoder,
store/DefaultMessageStore.java#checkMessage (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from fakemq.journal.journal import TEXT_MAX_CHARS, shortened
from fakemq.protocol.batch import member_fields, member_properties
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.header import parse_int
from fakemq.protocol.layout.codecs import RECORD_LEAST_BYTES, RECORD_V6_MORE_BYTES
from fakemq.protocol.message import tags_code
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    INNER_MULTI_QUEUE_OFFSET,
    PROPERTIES_MAX_BYTES,
    TAGS,
    UNIQ_CLIENT_MESSAGE_ID_KEYIDX,
    property_value,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store.inner_message import RecordDraft, record_draft
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.puts import PutMessageResult

ENCODING_RESERVE_BYTES: Final = 64 * 1024
"""How much larger than maxMessageSize a whole record may be."""
Drafts: TypeAlias = list[RecordDraft]

_ILLEGAL: Final = PutMessageStatus.MESSAGE_ILLEGAL
_OFFSETS_OF_QUEUES: Final = INNER_MULTI_QUEUE_OFFSET.encode()
_V6_FLAGS: Final = MessageSysFlag.BORNHOST_V6 | MessageSysFlag.STOREHOSTADDRESS_V6


BATCH_MAX_MESSAGES: Final = 50_000
"""Java's limit is the size alone. RocketMQ's own example of batches sends some 13,000 messages in
1 MB. The records of a batch are appended together, and no other peer is answered meanwhile: 1.5 µs
a message. What is before and after that is done in slices."""
_MEMBERS_A_STEP: Final = 100


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
    body, known = message.body, message.properties
    properties = message.properties_string.encode("utf-8", "replace")
    if len(properties) > PROPERTIES_MAX_BYTES:
        return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
    empty_bytes = set_host_flags(message) + len(message.topic.encode())
    size_bytes = empty_bytes + len(body) + len(properties)
    if size_bytes > max_message_size + ENCODING_RESERVE_BYTES:
        return _ILLEGAL
    tags, msg_id = known.get(TAGS), known.get(UNIQ_CLIENT_MESSAGE_ID_KEYIDX, "")
    if len(msg_id) > TEXT_MAX_CHARS:
        msg_id = shortened(msg_id)
    code = tags_code(tags) if tags else 0
    return [record_draft(message.flag, body, properties, size_bytes, code, msg_id, known)]


def draft_batch(
    batch: InnerMessage, max_message_size: int, *, multi_dispatch: bool = False
) -> Steps[Drafts | PutMessageStatus]:
    """Return the records of a batch, or why it cannot be stored, in steps.

    Each record has its own properties first, then those of the batch. A body that is no batch is an
    UNKNOWN_ERROR: what Java throws there has the same effect.
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
    drafts, properties_fit = list[RecordDraft](), True
    try:
        for number, (flag, body, own) in enumerate(member_fields(batch.body), 1):
            if number > BATCH_MAX_MESSAGES:
                return _ILLEGAL
            if not number % _MEMBERS_A_STEP:
                yield
            if not properties_fit:
                continue  # what is no batch is found first, as in Java
            properties = member_properties(own, common)
            if multi_dispatch and _OFFSETS_OF_QUEUES in properties:
                return _ILLEGAL
            properties_fit = len(properties) <= PROPERTIES_MAX_BYTES
            size_bytes = empty_bytes + len(body) + len(properties)
            text = properties.decode("utf-8", "replace")
            code = tags_code(property_value(text, TAGS)) if TAGS in text else 0
            msg_id = property_value(text, UNIQ_CLIENT_MESSAGE_ID_KEYIDX)
            if len(msg_id) > TEXT_MAX_CHARS:
                msg_id = shortened(msg_id)
            drafts.append(record_draft(flag, body, properties, size_bytes, code, msg_id))
    except RemoteProtocolError:
        return PutMessageStatus.UNKNOWN_ERROR
    return drafts if properties_fit else PutMessageStatus.PROPERTIES_SIZE_EXCEEDED


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
