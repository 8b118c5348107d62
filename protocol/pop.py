"""Names and texts of POP: retry topics, receipt handles, and the lists of offsets in answers.

Source: common/KeyBuilder.java, common/PopAckConstants.java, common/message/MessageConst.java,
remoting/protocol/header/ExtraInfoUtil.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fakemq.protocol.errors import IllegalArgumentError
from fakemq.protocol.header import parse_int, parse_long
from fakemq.protocol.properties import KEY_SEPARATOR
from fakemq.protocol.topics import RETRY_PREFIX

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

ORDER_REVIVE_QUEUE: Final = 999
"""The revive queue of messages that were popped in order: these have no checkpoint."""

REVIVE_GROUP: Final = "CID_RMQ_SYS_REVIVE_GROUP"
REVIVE_TOPIC_PREFIX: Final = "rmq_sys_REVIVE_LOG_"
CK_TAG: Final = "ck"
ACK_TAG: Final = "ack"
BATCH_ACK_TAG: Final = "bAck"

FIRST_POP_TIME: Final = "1ST_POP_TIME"
ORIGIN_GROUP: Final = "ORIGIN_GROUP"

_NORMAL: Final = "0"
_RETRY_V1: Final = "1"
_RETRY_V2: Final = "2"
_SEPARATOR_V1: Final = "_"
_SEPARATOR_V2: Final = "+"


# -- topics -----------------------------------------------------------------------------------


def revive_topic(cluster: str) -> str:
    """Return the topic that has the checkpoints and acknowledgements of a cluster's brokers."""
    return REVIVE_TOPIC_PREFIX + cluster


def pop_retry_topic(topic: str, group: str, *, v2: bool) -> str:
    """Return where a group's messages of a topic go when they were not acknowledged in time."""
    return f"{RETRY_PREFIX}{group}{_SEPARATOR_V2 if v2 else _SEPARATOR_V1}{topic}"


def normal_topic(topic: str, group: str) -> str:
    """Return the topic whose messages ``topic`` gets again; itself if it is no retry topic."""
    if not topic.startswith(RETRY_PREFIX):
        return topic
    # Both separators have one character.
    return topic[len(RETRY_PREFIX) + len(group) + 1 :]


def is_pop_retry_topic(topic: str, groups: Container[str], topics: Container[str]) -> bool:
    """Return whether one of ``groups`` gets messages of one of ``topics`` again from a topic.

    Names may contain the separators, so the name of the topic alone does not say it.
    """
    name = topic.removeprefix(RETRY_PREFIX)
    return name != topic and any(
        char in (_SEPARATOR_V1, _SEPARATOR_V2) and name[:at] in groups and name[at + 1 :] in topics
        for at, char in enumerate(name)
    )


def retry_mark(topic: str) -> str:
    """Return which kind of topic a handle names: normal, retry v1 or retry v2."""
    if not topic.startswith(RETRY_PREFIX):
        return _NORMAL
    return _RETRY_V2 if _SEPARATOR_V2 in topic else _RETRY_V1


def real_topic(topic: str, group: str, mark: str | None) -> str:
    """Return the topic that `retry_mark` was made from; raise IllegalArgumentError if no one."""
    if mark == _NORMAL:
        return topic
    if mark in (_RETRY_V1, _RETRY_V2):
        return pop_retry_topic(topic, group, v2=mark == _RETRY_V2)
    raise IllegalArgumentError("getRetry fail, format is wrong")


# -- receipt handles --------------------------------------------------------------------------

_HANDLE_PARTS: Final = 8


class ExtraInfo:
    """A receipt handle: which pop a message came from. Each part is checked when it is read.

    The parts are joined by blanks; a peer may send any text. Without one, raise
    IllegalArgumentError.
    """

    __slots__ = ("_parts",)

    def __init__(self, text: str | None) -> None:
        if text is None:
            raise IllegalArgumentError("split extraInfo is null")
        # Java's split drops empty parts at the end. What is behind the known parts is not cut.
        self._parts = text.rstrip(KEY_SEPARATOR).split(KEY_SEPARATOR, _HANDLE_PARTS)

    def _part(self, index: int, getter: str) -> str:
        if len(self._parts) <= index:
            raise IllegalArgumentError(f"{getter} fail, extraInfoStrs length {len(self._parts)}")
        return self._parts[index]

    @property
    def start_offset(self) -> int:
        """The queue offset at which the pop began to read."""
        return parse_long(self._part(0, "getCkQueueOffset"))

    @property
    def pop_time_ms(self) -> int:
        return parse_long(self._part(1, "getPopTime"))

    @property
    def invisible_time_ms(self) -> int:
        return parse_long(self._part(2, "getInvisibleTime"))

    @property
    def revive_queue_id(self) -> int:
        return parse_int(self._part(3, "getReviveQid"))

    @property
    def is_order(self) -> bool:
        return self.revive_queue_id == ORDER_REVIVE_QUEUE

    @property
    def retry_mark(self) -> str:
        """The mark of the topic, see `real_topic`."""
        return self._part(4, "getRetry")

    @property
    def broker_name(self) -> str:
        return self._part(5, "getBrokerName")

    @property
    def queue_id(self) -> int:
        return parse_int(self._part(6, "getQueueId"))

    @property
    def queue_offset(self) -> int:
        return parse_long(self._part(7, "getQueueOffset"))

    def __repr__(self) -> str:
        return f"<handle {KEY_SEPARATOR.join(self._parts)[:80]}>"


def extra_info(
    *,
    start_offset: int,
    pop_time_ms: int,
    invisible_time_ms: int,
    revive_queue_id: int,
    topic: str,
    broker_name: str,
    queue_id: int,
    queue_offset: int,
) -> str:
    """Return the receipt handle of a message, as the property POP_CK has it."""
    return (
        f"{start_offset} {pop_time_ms} {invisible_time_ms} {revive_queue_id}"
        f" {retry_mark(topic)} {broker_name} {queue_id} {queue_offset}"
    )


# -- lists in the answer to a pop -------------------------------------------------------------


def start_offset_info(topic: str, queue_id: int, start_offset: int) -> str:
    """Return the entry of startOffsetInfo for one queue; entries are joined by ``;``."""
    return f"{retry_mark(topic)} {queue_id} {start_offset}"


def msg_offset_info(topic: str, queue_id: int, offsets: Iterable[int]) -> str:
    """Return the entry of msgOffsetInfo for one queue; entries are joined by ``;``."""
    return f"{retry_mark(topic)} {queue_id} {','.join(map(str, offsets))}"


def queue_order_count(topic: str, queue_id: int, count: int) -> str:
    """Return the entry of orderCountInfo with the least count of a queue's messages."""
    return f"{retry_mark(topic)} {queue_id} {count}"


def offset_order_count(topic: str, queue_id: int, queue_offset: int, count: int) -> str:
    """Return the entry of orderCountInfo with the count of one message."""
    return f"{retry_mark(topic)} qo{queue_id}%{queue_offset} {count}"


def parse_infos(text: str | None, name: str) -> dict[str, str]:
    """Return the entries of such a list: what each is of, such as ``0 3``, and what it says.

    Raise IllegalArgumentError for an entry without three parts, and for a second one of the same.

    Source: remoting/protocol/header/ExtraInfoUtil.java#parseStartOffsetInfo (5.5.0)
    """
    found: dict[str, str] = {}
    for entry in text.split(";") if text else ():
        parts = entry.split(KEY_SEPARATOR)
        if len(parts) != 3:
            raise IllegalArgumentError(f"parse {name} error, {text}")
        of = f"{parts[0]} {parts[1]}"
        if of in found:
            raise IllegalArgumentError(f"parse {name} error, duplicate, {text}")
        found[of] = parts[2]
    return found
