"""The message types of topics, an attribute that topics of 5.5.0 have.

Source: common/TopicConfig.java#getTopicMessageType (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec.structs

from fakemq.config.checked import check_message_type
from fakemq.core.near_names import no_master_has
from fakemq.protocol.message_types import MESSAGE_TYPE, NORMAL

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.bodies.topic import TopicConfig


def message_type(core: ClusterCore, topic: str) -> str:
    """Return the type of a topic at the first running master that has it.

    Raise LookupError if none has.
    """
    _, config = _holders(core, topic)[0]
    return _type_of(config)


def last_message_type(core: ClusterCore, topic: str) -> str:
    """Return the type of a topic at the first broker that has it, whether that runs or not."""
    configs = (broker.topics.select(topic) for broker in core.brokers.values())
    return next((_type_of(config) for config in configs if config is not None), NORMAL)


def set_message_type(core: ClusterCore, topic: str, value: str) -> None:
    """Set the type of a topic at every running master that has it.

    Raise ConfigError for an unknown type and for a cluster of 4.9.7, LookupError if no running
    master has the topic.
    """
    check_message_type(value, core.spec.reference)
    for broker, config in _holders(core, topic):
        attributes = {**(config.attributes or {}), MESSAGE_TYPE: value}
        broker.put_topic(msgspec.structs.replace(config, attributes=attributes))
    core.network.settle()


def _holders(core: ClusterCore, topic: str) -> list[tuple[Broker, TopicConfig]]:
    found = [(broker, broker.topics.select(topic)) for broker in core.running_masters()]
    holders = [(broker, config) for broker, config in found if config is not None]
    if not holders:
        raise no_master_has(core, topic)
    return holders


def _type_of(config: TopicConfig) -> str:
    return (config.attributes or {}).get(MESSAGE_TYPE, NORMAL)
