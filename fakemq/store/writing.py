"""Messages on their way into the log: how they are checked, and become drafts of records.

Source: store/CommitLog.java#MessageExtEncoder,
store/DefaultMessageStore.java#checkMessage (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from fakemq.protocol.batch import member_properties
from fakemq.protocol.errors import RemoteProtocolError
from fakemq.protocol.header import parse_int
from fakemq.protocol.layout.codecs import parse_batch_member
from fakemq.protocol.message import TOPIC_MAX_BYTES, record_size_bytes
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    PROPERTIES_MAX_BYTES,
)
from fakemq.protocol.sysflag import MessageSysFlag
from fakemq.store.records import RecordDraft
from fakemq.store.results import PutMessageStatus

if TYPE_CHECKING:
    from fakemq.clock.slices import Steps
    from fakemq.store.inner_message import InnerMessage
    from fakemq.store.results import PutMessageResult

ENCODING_RESERVE_BYTES: Final = 64 * 1024
"""How much larger than maxMessageSize a whole record may be."""
Drafts: TypeAlias = list[RecordDraft]

_ILLEGAL: Final = PutMessageStatus.MESSAGE_ILLEGAL
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


def check_message(message: InnerMessage, max_message_size: int) -> PutMessageStatus | None:
    """Return why a message cannot be stored, or None.

    ``max_message_size`` is the most bytes of a body.
    Source: store/DefaultMessageStore.java#checkMessage (4.9.7)
    """
    # In characters, as Java counts; the store looks at the bytes of the topic itself.
    if (
        len(message.topic) > TOPIC_MAX_BYTES
        or len(message.properties_string) > PROPERTIES_MAX_BYTES
        or len(message.body) > max_message_size
    ):
        return _ILLEGAL
    return None


def draft_message(
    message: InnerMessage, max_message_size: int
) -> list[RecordDraft] | PutMessageStatus:
    """Return the one record that a message becomes, or why it cannot be stored."""
    body, topic_bytes = message.body, len(message.topic.encode())
    properties = message.properties_string.encode("utf-8", "replace")
    if len(properties) > PROPERTIES_MAX_BYTES:
        return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
    _set_host_flags(message)
    size_bytes = record_size_bytes(message.sys_flag, len(body), topic_bytes, len(properties))
    if size_bytes > max_message_size + ENCODING_RESERVE_BYTES:
        return _ILLEGAL
    return [RecordDraft(message.flag, body, properties, size_bytes, message.properties)]


def draft_batch(batch: InnerMessage, max_message_size: int) -> Steps[Drafts | PutMessageStatus]:
    """Return the records of a batch, or why it cannot be stored, in steps.

    Each record has its own properties first, then those of the batch. A body that is no batch is an
    UNKNOWN_ERROR: what Java throws there has the same effect.
    Differs: a batch of over `BATCH_MAX_MESSAGES` is illegal.
    Source: store/CommitLog.java#asyncPutMessages, #encode (4.9.7)
    """
    topic_bytes = len(batch.topic.encode())
    if (
        len(batch.body) > max_message_size
        or batch.sys_flag & MessageSysFlag.TRANSACTION_MASK
        or parse_int(batch.properties.get(DELAY_TIME_LEVEL, "0")) > 0
    ):
        return _ILLEGAL
    data, members, at = batch.body, list[tuple[bytes, bytes, int]](), 0
    end = len(data)
    try:
        while at < end:
            _, _, _, flag, body, own, at = parse_batch_member(data, at)
            members.append((body, own, flag))
            if len(members) > BATCH_MAX_MESSAGES:
                return _ILLEGAL
            if not len(members) % _MEMBERS_A_STEP:
                yield
    except RemoteProtocolError:
        return PutMessageStatus.UNKNOWN_ERROR
    _set_host_flags(batch)
    batch.prepared_transaction_offset = 0
    common = batch.properties_string.encode("utf-8", "replace")
    drafts: Drafts = []
    empty_bytes = record_size_bytes(batch.sys_flag, 0, topic_bytes, 0)
    for body, own, flag in members:
        properties = member_properties(own, common)
        properties_bytes = len(properties)
        if properties_bytes > PROPERTIES_MAX_BYTES:
            return PutMessageStatus.PROPERTIES_SIZE_EXCEEDED
        size_bytes = empty_bytes + len(body) + properties_bytes
        drafts.append(RecordDraft(flag, body, properties, size_bytes))
        if not len(drafts) % _MEMBERS_A_STEP:
            yield
    return drafts


def _set_host_flags(message: InnerMessage) -> None:
    # A client may have set the flags for its own hosts. Java then writes an unreadable record.
    sys_flag = message.sys_flag & ~_V6_FLAGS
    if ":" in message.born_host[0]:
        sys_flag |= MessageSysFlag.BORNHOST_V6
    if ":" in message.store_host[0]:
        sys_flag |= MessageSysFlag.STOREHOSTADDRESS_V6
    message.sys_flag = sys_flag
