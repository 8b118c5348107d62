"""The topics of a broker, and the rules by which they are created.

Source: broker/topic/TopicConfigManager.java (4.9.7)
"""

# Over 400 lines: all changes of one table, and its version.

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from fakemq.broker.tables.kept_text import KeptText
from fakemq.broker.tables.persistence import TABLES
from fakemq.clock.slices import finished
from fakemq.dispatch.outcomes import required
from fakemq.events.core import TopicChanged
from fakemq.protocol.bodies.topic import (
    DataVersion,
    TopicConfig,
    TopicConfigSerializeWrapper,
    topic_json,
    topics_json,
)
from fakemq.protocol.java import (
    java_concurrent_map_order,
    java_hash_map_order,
)
from fakemq.protocol.sysflag import PermName, perm_to_string
from fakemq.protocol.topics import (
    AUTO_CREATE_TOPIC_KEY_TOPIC,
    BENCHMARK_TOPIC,
    LMQ_PREFIX,
    OFFSET_MOVED_EVENT_TOPIC,
    REPLY_POSTFIX,
    SCHEDULE_TOPIC,
    SELF_TEST_TOPIC,
    SYSTEM_TOPIC_PREFIX,
    SYSTEM_TOPICS,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)

if TYPE_CHECKING:
    from fakemq.broker.tables.persistence import ConfigFile
    from fakemq.clock.slices import Steps
    from fakemq.config.model import BrokerConfig
    from fakemq.dispatch.node import NodeContext
    from fakemq.reference import Reference

_RW: Final = PermName.READ_WRITE
_SCHEDULE_QUEUES: Final = 18
_TABLE_CAPACITY: Final = 1024
"""The capacity of Java's table, which decides the order in the file."""

NOT_ALLOWED_SEND_TOPICS: Final = frozenset(
    {
        SCHEDULE_TOPIC,
        TRANS_HALF_TOPIC,
        TRANS_OP_HALF_TOPIC,
        TRANS_CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_EVENT_TOPIC,
    }
)
"""Clients may not send to these topics."""


class TopicConfigManager:
    """The topics of one broker by name, and their version, which changes with every change."""

    def __init__(
        self,
        node: NodeContext[BrokerConfig],
        file: ConfigFile[TopicConfigSerializeWrapper],
        *,
        register_soon: Callable[[], None],
    ) -> None:
        self._node = node
        self._file = file
        self.kept = KeptText(
            TABLES["topics.json"],
            _TABLE_CAPACITY,
            lambda: self._table,
            lambda: TopicConfigSerializeWrapper(data_version=self.data_version),
        )
        self._register_soon = register_soon
        """Called after a client's request has created a topic."""
        self.on_changed: Callable[[], None] = lambda: None
        """Called when topics have changed, or at a slave all of them."""
        # Always the same dict: `select` is bound to it.
        self._table: dict[str, TopicConfig] = {}
        self._light = node.config.enable_lmq
        self.select: Callable[[str], TopicConfig | None] = (
            self._select_light if self._light else self._table.get
        )
        """Return the topic's config; None if the topic does not exist here."""
        self._json: dict[str, bytes] = {}
        """The JSON of every topic: to encode 10,000 topics for each registration takes too long."""
        self._encoded: tuple[DataVersion, bytes] | None = None
        """The version and JSON of the last call of `encoded`."""
        self._system: dict[str, None] = {}  # a set that keeps its order
        self.data_version = DataVersion()
        self.reset()

    # -- reading ------------------------------------------------------------------------------

    def is_order(self, topic: str) -> bool:
        config = self._table.get(topic)
        return config is not None and config.order

    def _select_light(self, topic: str) -> TopicConfig | None:
        """Return the topic's config; every light topic is there, and has one queue.

        Source: broker/topic/LmqTopicConfigManager.java (4.9.7)
        """
        if topic.startswith(LMQ_PREFIX):
            return TopicConfig(topic, 1, 1, _RW)
        return self._table.get(topic)

    def system_topics(self) -> list[str]:
        """Return Java's own topics and those of this broker's names, in the order of Java's set.

        Source: common/topic/TopicValidator.java#getSystemTopicSet (4.9.7)
        """
        return java_hash_map_order(self._system)

    def is_system(self, topic: str) -> bool:
        """Return whether ``topic`` is Java's own or has a name of this broker.

        Admin requests may not change such topics.

        Source: common/topic/TopicValidator.java#isSystemTopic (4.9.7)
        """
        return topic in self._system or topic.startswith(SYSTEM_TOPIC_PREFIX)

    def __contains__(self, topic: object) -> bool:
        """Return whether there is a topic; no light one is listed."""
        return topic in self._table

    def snapshot(self) -> Mapping[str, TopicConfig]:
        """Return all topics as they are now, read-only."""
        return MappingProxyType(dict(self._table))

    def wrapper(self) -> TopicConfigSerializeWrapper:
        """Return all topics with their version, as codes 21 and 103 send them."""
        return TopicConfigSerializeWrapper(
            topic_config_table=dict(self._table), data_version=self.data_version
        )

    def encoded(self) -> bytes:
        """Return the JSON of `wrapper`; after a change only the changed topics are encoded."""
        if self._encoded is None or self._encoded[0] != self.data_version:
            encoded = topics_json(self.data_version, self._json.values())
            self._encoded = self.data_version, encoded
        return self._encoded[1]

    def persisted(self) -> TopicConfigSerializeWrapper:
        """Return all topics as topics.json contains them.

        Source: TopicConfigManager.java#encode (4.9.7)
        """
        return finished(self.kept.captured())

    def load(self, saved: TopicConfigSerializeWrapper) -> None:
        """Add the topics of a file to those of a first start, or replace them.

        Source: broker/topic/TopicConfigManager.java#decode (4.9.7)
        """
        for topic in java_concurrent_map_order(saved.topic_config_table):
            self._set(topic, saved.topic_config_table[topic])
        self.data_version = saved.data_version

    def replace(self, wrapper: TopicConfigSerializeWrapper) -> Steps[None]:
        """Replace all topics and their version by those of the master; slaves do this.

        The file is written in steps.

        Source: broker/slave/SlaveSynchronize.java#syncTopicConfig (4.9.7)
        """
        self._table.clear()
        self._json.clear()
        self.kept.clear()
        for topic, config in wrapper.topic_config_table.items():
            self._set(topic, config)
        self.data_version = wrapper.data_version
        self.on_changed()
        yield from self._file.persist_change()

    # -- creating and changing ----------------------------------------------------------------

    def create_in_send(
        self, topic: str, default_topic: str, client_queue_nums: int, topic_sys_flag: int
    ) -> TopicConfig | None:
        """Create ``topic`` as a copy of ``default_topic``, because a client sends to it.

        Return None if the default topic does not exist, or has no INHERIT permission. The number of
        queues is what the client asks for, but at most that of the default topic.

        Source: broker/topic/TopicConfigManager.java#createTopicInSendMessageMethod (4.9.7)
        """
        default = self._table.get(default_topic)
        if default is None:
            return None
        auto_create = self._node.config.auto_create_topic_enable
        if default_topic == AUTO_CREATE_TOPIC_KEY_TOPIC and not auto_create:
            # Java changes the default topic itself, for good.
            default = msgspec.structs.replace(default, perm=_RW)
            self._set(default_topic, default)
        if not default.perm & PermName.INHERIT:
            return None
        queue_nums = max(0, min(client_queue_nums, default.write_queue_nums))
        config = TopicConfig(
            topic_name=topic,
            read_queue_nums=queue_nums,
            write_queue_nums=queue_nums,
            perm=default.perm & ~PermName.INHERIT,
            topic_sys_flag=topic_sys_flag,
            topic_filter_type=default.topic_filter_type,
        )
        self._put(topic, config, "created")
        self._register_soon()
        return config

    def create_in_send_back(
        self, topic: str, queue_nums: int, perm: int = _RW, topic_sys_flag: int = 0
    ) -> TopicConfig:
        """Return the topic; create it if it does not exist, as a retry or dead-letter topic.

        Source: broker/topic/TopicConfigManager.java#createTopicInSendMessageBackMethod (4.9.7)
        """
        present = self._table.get(topic)
        if present is not None:
            return present
        config = TopicConfig(
            topic_name=topic,
            read_queue_nums=queue_nums,
            write_queue_nums=queue_nums,
            perm=perm,
            topic_sys_flag=topic_sys_flag,
        )
        self._put(topic, config, "created")
        self._register_soon()
        return config

    def create(
        self,
        topic: str,
        queues: int,
        perm: int = _RW,
        attributes: Mapping[str, str] = MappingProxyType({}),
    ) -> TopicConfig:
        """Create or replace a topic with this number of queues; the caller registers it.

        A topic that exists keeps its other attributes.
        """
        present = self._table.get(topic)
        kept = None if present is None else present.attributes
        config = TopicConfig(
            topic_name=topic,
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=perm,
            attributes={**(kept or {}), **attributes} if attributes else kept,
        )
        self.update(config)
        return config

    def update(self, config: TopicConfig) -> None:
        """Create or replace a topic; the caller registers it with the name servers.

        With enableLmq a light topic is registered, too, but not kept.
        """
        topic = required(config.topic_name, "TopicConfig", "topicName")
        if self._light and topic.startswith(LMQ_PREFIX):
            return
        self._put(topic, config, "updated" if topic in self._table else "created")

    def delete(self, topic: str) -> bool:
        """Remove a topic; return False if there was none.

        Name servers keep its route, as in Java.
        """
        if self._table.pop(topic, None) is None:
            return False
        del self._json[topic]
        self.kept.changed(topic)
        self.next_version()
        self._changed(topic, "deleted")
        self._file.persist()
        return True

    def update_order_topics(self, order_topics: Collection[str]) -> None:
        """Make exactly these topics ordered; name servers list them with every registration.

        Source: broker/topic/TopicConfigManager.java#updateOrderTopicConfig (4.9.7)
        """
        changed = [
            topic
            for topic, config in self._table.items()
            if config.order != (topic in order_topics)
        ]
        for topic in changed:
            config = self._table[topic]
            self._set(topic, msgspec.structs.replace(config, order=not config.order))
            self._changed(topic, "updated")
        if changed:
            self.next_version()
            self._file.persist()

    def next_version(self) -> None:
        """Begin a new version, so that name servers take over the next registration."""
        self.data_version = self.data_version.next(self._node.clock.now_ms())

    def reset(self) -> None:
        """Return to the topics of a first start."""
        self.kept.clear()
        self._table.clear()
        self._table.update(_first_boot(self._node.config, self._node.reference))
        for config in self._table.values():
            self._complete(config)
        self._json = {topic: topic_json(config) for topic, config in self._table.items()}
        self._encoded = None
        system = (*SYSTEM_TOPICS, *self._node.reference.system_topics)
        self._system = dict.fromkeys((*system, *self._table))
        self.data_version = DataVersion(timestamp=self._node.clock.now_ms(), counter=0)

    # -- inside -------------------------------------------------------------------------------

    def _complete(self, config: TopicConfig) -> None:
        """Set what the reference's topics have, and this one does not say."""
        for name, value in self._node.reference.topic_settings.items():
            if getattr(config, name) is None:
                setattr(config, name, value)

    def _set(self, topic: str, config: TopicConfig) -> None:
        self._complete(config)
        self._table[topic] = config
        self._json[topic] = topic_json(config)
        self.kept.changed(topic)
        self._encoded = None

    def _put(self, topic: str, config: TopicConfig, how: str) -> None:
        self._set(topic, config)
        self.next_version()
        self._changed(topic, how)
        self._file.persist()
        self.on_changed()

    def _changed(self, topic: str, how: str) -> None:
        self._node.journal.add(TopicChanged(node=self._node.name, topic=topic, how=how))


def _first_boot(config: BrokerConfig, reference: Reference) -> dict[str, TopicConfig]:
    """Return the topics that every broker has after its first start."""
    own = [(SELF_TEST_TOPIC, 1, _RW)]
    if config.auto_create_topic_enable:
        nums = config.default_topic_queue_nums
        own.append((AUTO_CREATE_TOPIC_KEY_TOPIC, nums, _RW | PermName.INHERIT))
    own += [
        (BENCHMARK_TOPIC, 1024, _RW),
        (
            config.broker_cluster_name,
            16,
            PermName.INHERIT | (_RW if config.cluster_topic_enable else 0),
        ),
        (config.broker_name, 1, PermName.INHERIT | (_RW if config.broker_topic_enable else 0)),
        (OFFSET_MOVED_EVENT_TOPIC, 1, _RW),
        (SCHEDULE_TOPIC, _SCHEDULE_QUEUES, _RW),
    ]
    if config.trace_topic_enable:
        own.append((config.msg_trace_topic_name, 1, _RW))
    own.append((f"{config.broker_cluster_name}_{REPLY_POSTFIX}", 1, _RW))
    names = {"cluster": config.broker_cluster_name, "broker": config.broker_name}
    for topic in reference.first_topics:
        if not topic.only_with or getattr(config, topic.only_with):
            queues = topic.queues
            nums = queues if isinstance(queues, int) else int(getattr(config, queues))
            own.append((topic.name.format(**names), nums, topic.perm))
    return {
        name: TopicConfig(topic_name=name, read_queue_nums=nums, write_queue_nums=nums, perm=perm)
        for name, nums, perm in own
    }


def topic_config_text(config: TopicConfig) -> str:
    """Return a topic as Java prints it in error texts. Source: common/TopicConfig.java (4.9.7)"""
    return (
        f"TopicConfig [topicName={config.topic_name}, readQueueNums={config.read_queue_nums},"
        f" writeQueueNums={config.write_queue_nums}, perm={perm_to_string(config.perm)},"
        f" topicFilterType={config.topic_filter_type}, topicSysFlag={config.topic_sys_flag},"
        f" order={'true' if config.order else 'false'}{_attributes_text(config)}]"
    )


def _attributes_text(config: TopicConfig) -> str:
    if config.attributes is None:
        return ""
    names = java_hash_map_order(config.attributes)
    return f", attributes={{{', '.join(f'{name}={config.attributes[name]}' for name in names)}}}"
