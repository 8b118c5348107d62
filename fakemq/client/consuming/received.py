"""Messages as a consumer gets them, and what consuming them can result in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from fakemq.client.messages import PullStatus
from fakemq.config.checked import whole
from fakemq.protocol import properties as names
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.java import INT_MAX

if TYPE_CHECKING:
    from fakemq.protocol.message import MessageExt


DEAD_LETTER = -1
"""The delay level of a message that is not tried again."""


class ReceivedMessage:
    """A message as it was stored, with the topic that it was first sent to.

    It is acknowledged when its listener returns, and sent back when it raises, or when it has
    called `retry_later`.

    Source: common/message/MessageExt.java, MessageClientExt.java (4.9.7)
    """

    # What is rarely used is read from the stored message when it is asked for: a consumer of small
    # messages spends much of its time in making these objects.
    __slots__ = (
        "_properties",
        "body",
        "broker_name",
        "consume_started_ms",
        "max_offset",
        "min_offset",
        "queue_offset",
        "reconsume_times",
        "retry_level",
        "stored",
        "topic",
    )

    def __init__(
        self,
        stored: MessageExt,
        broker_name: str,
        *,
        topic: str | None = None,
        min_offset: int = 0,
        max_offset: int = 0,
    ) -> None:
        self.stored = stored
        """The stored record, with its hosts, its place in the log and its stored topic."""
        self.broker_name = broker_name
        self.topic = stored.topic if topic is None else topic
        """For a message that is tried again its first topic, not that of retries."""
        self.body = stored.body
        """Decompressed."""
        self.queue_offset = stored.queue_offset
        self.reconsume_times = stored.reconsume_times
        """How often it was tried before."""
        self.min_offset = min_offset
        """The first offset of its queue when it was pulled."""
        self.max_offset = max_offset
        """One more than the last offset of its queue when it was pulled."""
        self.retry_level: int | None = None
        """The level of `retry_later`; None if it was not called."""
        self.consume_started_ms: int | None = None
        """When its listener was last called, in elapsed time of the carrier."""
        self._properties: dict[str, str] | None = None

    def retry_later(self, level: int = 0) -> None:
        """Send this message back when the listener returns, to be tried again.

        Call it before the listener returns, or the loop asks for the next message: then the message
        is acknowledged, and this has no effect any more.

        ``level`` is a delay level: 1 for 1 s, 2 for 5 s, 3 for 10 s, and so on. 0 lets the broker
        choose, with a longer delay each time; -1 makes it a dead letter at once. In an ordered
        queue the message is tried again before any other, and no other ``level`` has an effect. In
        BROADCASTING no level sends it back: as in Java the message is dropped, or with ``ordered``
        tried again before any other.
        Raise ConfigError for anything but a whole number from -1: Java takes any number below 0 for
        a dead letter.
        """
        whole("level", level, DEAD_LETTER, INT_MAX)
        self.retry_level = level

    @property
    def properties(self) -> dict[str, str]:
        """The stored properties, with MIN_OFFSET and MAX_OFFSET of the pull, as in Java."""
        if self._properties is None:
            self._properties = {
                **self.stored.properties,
                names.MIN_OFFSET: str(self.min_offset),
                names.MAX_OFFSET: str(self.max_offset),
            }
        return self._properties

    @property
    def tags(self) -> str:
        return self.properties.get(names.TAGS, "")

    @property
    def keys(self) -> str:
        return self.properties.get(names.KEYS, "")

    @property
    def queue_id(self) -> int:
        return self.stored.queue_id

    @property
    def message_id(self) -> str:
        """The unique id that the producer set, or the offset id if it set none."""
        return self.stored.msg_id

    @property
    def offset_message_id(self) -> str:
        """The id made of the broker's address and the record's place in its log."""
        return self.stored.offset_msg_id

    @property
    def born_timestamp_ms(self) -> int:
        """When the producer sent it, by the producer's clock."""
        return self.stored.born_timestamp_ms

    @property
    def store_timestamp_ms(self) -> int:
        """When the broker stored it, by the broker's clock."""
        return self.stored.store_timestamp_ms

    @property
    def commit_log_offset(self) -> int:
        """The place of the message in its broker's commit log, in bytes."""
        return self.stored.commit_log_offset

    @property
    def flag(self) -> int:
        return self.stored.flag

    @property
    def sys_flag(self) -> int:
        return self.stored.sys_flag

    def __repr__(self) -> str:
        return (
            f"<message {self.message_id} of {self.topic}, {self.broker_name}:{self.queue_id}"
            f" offset {self.queue_offset}, {len(self.body)} bytes>"
        )


class ConsumeStatus(Enum):
    """The result of a listener. ROLLBACK and COMMIT are for ordered queues that commit by hand.

    Source: client/consumer/listener/ConsumeConcurrentlyStatus.java, ConsumeOrderlyStatus.java
    (4.9.7)
    """

    SUCCESS = "SUCCESS"
    RECONSUME_LATER = "RECONSUME_LATER"
    """Of an ordered queue: SUSPEND_CURRENT_QUEUE_A_MOMENT."""
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"


class ConsumeResult(msgspec.Struct, frozen=True):
    """What a listener may return instead of None, which is SUCCESS.

    Source: client/consumer/listener/ConsumeConcurrentlyContext.java, ConsumeOrderlyContext.java
    (4.9.7)
    """

    status: ConsumeStatus = ConsumeStatus.SUCCESS
    ack_index: int = INT_MAX
    """With SUCCESS: the last message of the batch that succeeded; those behind it are sent back.
    Not for ordered queues."""
    delay_level: int | None = None
    """The delay level of messages that are sent back; None is that of the settings."""
    suspend_ms: int | None = None
    """How long an ordered queue waits; None is what the settings say."""
    auto_commit: bool = True
    """False in an ordered queue: SUCCESS commits nothing, COMMIT everything since the last
    COMMIT, and ROLLBACK consumes that again."""


Listener: TypeAlias = Callable[[Sequence[ReceivedMessage]], ConsumeResult | None]
"""Takes a batch of messages, of one message by default. Returning acknowledges them, except those
with `ReceivedMessage.retry_later`; raising sends all of them back. A coroutine function is
awaited."""


class NotConsumedError(Exception):
    """Raised by a listener that has not begun with its messages, because its consumer ends.

    They are neither acknowledged nor sent back: the next owner of their queue consumes them.
    """


SUCCESS = ConsumeResult()
RECONSUME_LATER = ConsumeResult(ConsumeStatus.RECONSUME_LATER)


class Pulled(msgspec.Struct, frozen=True):
    """The result of a pull, and the offset of the next one.

    Source: client/consumer/PullResult.java (4.9.7)
    """

    queue: MessageQueue
    status: PullStatus
    next_begin_offset: int
    min_offset: int
    max_offset: int
    messages: list[ReceivedMessage]
