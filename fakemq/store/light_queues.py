"""Light queues: a message has entries in its own queue, and in those that a property names.

The producer names the queues in the property ``INNER_MULTI_DISPATCH``. The store adds their offsets
in ``INNER_MULTI_QUEUE_OFFSET``, so that the record alone says in which queues it is. With enableLmq
queues called ``%LMQ%…`` are light ones: they have the queue id 0, and no config of a topic.

With 5.5.0 some topics name no queues: `LightRule.takes`, `LightRule.follows`.

Source: store/MultiDispatch.java, store/ConsumeQueue.java#multiDispatchLmqQueue (4.9.7),
common/MixAll.java#topicAllowsLMQ, store/queue/MultiDispatchUtils.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fakemq.protocol.errors import NumberFormatError
from fakemq.protocol.header import parse_long
from fakemq.protocol.properties import (
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    WAIT_STORE_MSG_OK,
)
from fakemq.protocol.topics import (
    DLQ_PREFIX,
    LMQ_PREFIX,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    SYSTEM_TOPIC_PREFIX,
)
from fakemq.store.queue_folders import why_no_queue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fakemq.config.model import BrokerConfig
    from fakemq.protocol.properties import PropertiesEncoder
    from fakemq.store.commitlog import CommitLog
    from fakemq.store.inner_message import InnerMessage

SEPARATOR: Final = ","
MOST_QUEUES: Final = 1_000
"""How many queues a message may name. Java has no limit, and makes a file for each."""
TOO_MANY: Final = f"fakemq puts a message into at most {MOST_QUEUES} queues that it names"


class LightEntry(NamedTuple):
    """One of the entries that a record has beside that in its own queue."""

    topic: str
    queue_id: int
    queue_offset: int


class LightRule(NamedTuple):
    """Which records have such entries; a config can change it at any time."""

    multi_dispatch: bool = False
    lmq: bool = False
    limited: bool = False
    """Whether messages of some topics name no queues, as with 5.5.0, which stores WAIT, too."""

    @classmethod
    def of(cls, config: BrokerConfig) -> LightRule:
        return cls(config.enable_multi_dispatch, config.enable_lmq, config.limits_light_queues)

    def takes(self, topic: str) -> bool:
        """Return whether a message of a topic gets offsets in the queues that it names.

        Source: common/MixAll.java#topicAllowsLMQ (5.5.0)
        """
        return not (self.limited and _is_detour(topic, DLQ_PREFIX))

    def follows(self, topic: str) -> bool:
        """Return whether a record of a topic is in the queues of which it has offsets.

        A dead letter has those of the message that it was: it is in these queues once more if that
        was the first message there, as Java appends what has the offset 0.
        Source: store/queue/MultiDispatchUtils.java#isNeedHandleMultiDispatch (5.5.0)
        """
        return not (self.limited and _is_detour(topic))

    def queue_id(self, topic: str, queue_id: int) -> int:
        """Return the id of a named queue of a message that goes to ``queue_id``."""
        return 0 if self.lmq and topic.startswith(LMQ_PREFIX) else queue_id

    def entries(self, properties: Mapping[str, str], topic: str, queue_id: int) -> list[LightEntry]:
        """Return the entries of a record with these properties, which is in this queue.

        Differs: a record whose offsets are no numbers, or are too many, has none. Java tries such a
        record again for ever, and dispatches none behind it.
        Source: store/ConsumeQueue.java#multiDispatchLmqQueue (4.9.7)
        """
        if not self.multi_dispatch or not self.follows(topic):
            return []
        return [
            LightEntry(name, self.queue_id(name, queue_id), offset)
            for name, offset in _named(properties)
        ]


def _is_detour(topic: str, *more: str) -> bool:
    """Return whether a topic is for messages that are on their way to another one, or come back.

    ``more`` are further beginnings of such topics.
    """
    return topic == SCHEDULE_TOPIC or topic.startswith((RETRY_PREFIX, SYSTEM_TOPIC_PREFIX, *more))


NO_LIGHT_QUEUES: Final = LightRule()


def names_queues(properties: Mapping[str, str]) -> bool:
    """Return whether a message names further queues."""
    return bool(properties.get(INNER_MULTI_DISPATCH, "").strip())


def light_names(properties: Mapping[str, str]) -> list[str]:
    """Return the light queues that a message names."""
    names = _split(properties.get(INNER_MULTI_DISPATCH, ""))
    return [name for name in names if name.startswith(LMQ_PREFIX)]


def why_no_light_queue(name: str) -> str:
    """Return why no message can be in a light queue of this name; "" if one can."""
    if SEPARATOR in name:
        return f"{SEPARATOR} ends a name"
    return why_no_queue(name, 0)


def is_light_entry(entry: LightEntry, properties: Mapping[str, str], record_queue_id: int) -> bool:
    """Return whether a record names this entry, whether or not light queues were enabled then."""
    topic, queue_id, queue_offset = entry
    ids = {record_queue_id, 0} if topic.startswith(LMQ_PREFIX) else {record_queue_id}
    return queue_id in ids and (topic, queue_offset) in _named(properties)


def _named(properties: Mapping[str, str]) -> list[tuple[str, int]]:
    """Return the queues and offsets that the properties of a record have; [] if they do not fit."""
    names = properties.get(INNER_MULTI_DISPATCH, "")
    offsets = properties.get(INNER_MULTI_QUEUE_OFFSET, "")
    if not names.strip() or not offsets.strip():
        return []
    topics, numbers = _split(names), _split(offsets)
    if len(topics) != len(numbers) or len(topics) > MOST_QUEUES:
        return []
    try:
        return list(zip(topics, map(parse_long, numbers), strict=True))
    except NumberFormatError:
        return []


def _split(text: str) -> list[str]:
    """Return the parts of a text as Java's ``split`` does: without empty ones at the end."""
    parts = text.split(SEPARATOR)
    while parts and not parts[-1]:
        parts.pop()
    return parts


class MultiDispatch:
    """Sets the offsets of the messages of one log in the queues that they name."""

    def __init__(self, config: BrokerConfig, log: CommitLog) -> None:
        self._config = config
        self._log = log

    def wrap(
        self, message: InnerMessage, encode_properties: PropertiesEncoder
    ) -> list[LightEntry] | None:
        """Write into a message its next offset in each named queue, and return these.

        None if it names too many. Call `taken` when the message is in the log.
        Source: store/MultiDispatch.java#wrapMultiDispatch (4.9.7),
        store/CommitLog.java#handlePropertiesForLmqMsg (5.5.0)
        """
        rule = LightRule.of(self._config)
        stored = message.properties[INNER_MULTI_DISPATCH].encode("utf-8", "replace")
        topics = _split(stored.decode())
        if len(topics) > MOST_QUEUES:
            return None
        entries = []
        for topic in topics:
            queue_id = rule.queue_id(topic, message.queue_id)
            offset = self._table(rule, topic).get((topic, queue_id), 0)
            entries.append(LightEntry(topic, queue_id, offset))
        offsets = SEPARATOR.join(str(entry.queue_offset) for entry in entries)
        message.properties = message.properties | {INNER_MULTI_QUEUE_OFFSET: offsets}
        if rule.limited and not message.wait_store_msg_ok:
            message.properties[WAIT_STORE_MSG_OK] = "false"
        without = None if rule.limited else WAIT_STORE_MSG_OK
        message.properties_string = encode_properties(message.properties, without=without)
        return entries

    def taken(self, entries: list[LightEntry]) -> None:
        """Move the next offsets of queues behind these entries.

        Names that no queue can have are left out: they are not worth the memory.
        Source: store/MultiDispatch.java#updateMultiQueueOffset (4.9.7)
        """
        rule = LightRule.of(self._config)
        for topic, queue_id, offset in entries:
            if not why_no_queue(topic, queue_id):
                self._table(rule, topic)[topic, queue_id] = offset + 1

    def _table(self, rule: LightRule, topic: str) -> dict[tuple[str, int], int]:
        log = self._log
        light = rule.lmq and topic.startswith(LMQ_PREFIX)
        return log.lmq_topic_queue_table if light else log.topic_queue_table
