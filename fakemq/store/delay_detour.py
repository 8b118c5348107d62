"""The delay levels of a broker, and the detour of delayed messages through the schedule topic.

Each level has its own queue there, numbered from 0. As all its messages wait equally long, they
become due in the order of the queue.

Source: store/schedule/ScheduleMessageService.java, store/CommitLog.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.delay_levels import parse_delay_levels
from fakemq.protocol.header import parse_int
from fakemq.protocol.message import tags_code
from fakemq.protocol.properties import (
    DELAY_TIME_LEVEL,
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TAGS,
    decode_properties,
)
from fakemq.protocol.sysflag import UNQUEUED, MessageSysFlag
from fakemq.protocol.topics import SCHEDULE_TOPIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.protocol.properties import PropertiesEncoder
    from fakemq.store.inner_message import InnerMessage, RecordDraft


def delay_level_to_queue_id(level: int) -> int:
    """Return the queue of a level in the schedule topic."""
    return level - 1


def queue_id_to_delay_level(queue_id: int) -> int:
    """Return the level whose messages are in a queue of the schedule topic."""
    return queue_id + 1


class DelayLevels:
    """The table of ``messageDelayLevel``."""

    def __init__(self, text: str) -> None:
        self.table: dict[int, int] = {}
        """Delays in milliseconds by level, from 1 on without a gap."""
        self.read(text)

    def read(self, text: str) -> None:
        """Replace the table; raise ValueError and keep the old one if ``text`` is not valid."""
        self.table = parse_delay_levels(text)

    @property
    def max_level(self) -> int:
        """The highest level; higher ones in messages are treated as this one."""
        return len(self.table)

    def divert(self, message: InnerMessage, encode_properties: PropertiesEncoder) -> None:
        """Change topic and queue of a message with a delay level to those of the schedule topic.

        Its real topic and queue go into its properties. Called for every put with a delay level,
        also of a committed transaction; half messages and rollbacks are not delayed. Raise
        NumberFormatError for a level that is not a number.
        Source: store/CommitLog.java#asyncPutMessage (4.9.7)
        """
        properties = message.properties
        text = properties.get(DELAY_TIME_LEVEL)
        if text is None or message.sys_flag & MessageSysFlag.TRANSACTION_MASK in UNQUEUED:
            return
        level = parse_int(text)
        if level <= 0:
            return
        if level > self.max_level:
            level = self.max_level
            properties[DELAY_TIME_LEVEL] = str(level)
        properties[REAL_TOPIC] = message.topic
        properties[REAL_QUEUE_ID] = str(message.queue_id)
        message.properties_string = encode_properties(properties)
        message.topic = SCHEDULE_TOPIC
        message.queue_id = delay_level_to_queue_id(level)

    def dated(self, drafts: list[RecordDraft], store_timestamp_ms: int) -> list[RecordDraft]:
        """Return drafts of records for the schedule topic, with the tags codes of `queue_code`."""
        return [
            (
                *(flag, body, properties, size_bytes),
                self.queue_code(
                    SCHEDULE_TOPIC,
                    decode_properties(properties.decode("utf-8", "replace")),
                    store_timestamp_ms,
                ),
                names,
            )
            for flag, body, properties, size_bytes, _, names in drafts
        ]

    def queue_code(self, topic: str, properties: Mapping[str, str], store_timestamp_ms: int) -> int:
        """Return the tags code of a record's entry in its consume queue.

        This is the hash of its tags. In the schedule topic it is the time, in milliseconds, at
        which the record becomes due.
        """
        if topic == SCHEDULE_TOPIC:
            due_ms = self.deliver_timestamp_ms(properties, store_timestamp_ms)
            if due_ms is not None:
                return due_ms
        return tags_code(properties.get(TAGS))

    def deliver_timestamp_ms(
        self, properties: Mapping[str, str], store_timestamp_ms: int
    ) -> int | None:
        """Return when a record of the schedule topic becomes due, in ms; None if it has no level.

        Source: store/CommitLog.java#checkMessageAndReturnSize,
        ScheduleMessageService.java#computeDeliverTimestamp (4.9.7)
        """
        level = min(parse_int(properties.get(DELAY_TIME_LEVEL, "0")), self.max_level)
        return store_timestamp_ms + self.table[level] if level > 0 else None
