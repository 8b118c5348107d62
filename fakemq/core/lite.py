"""Lite topics as a test sees them: what there is below a parent, with the subscribers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from fakemq.broker.v5.topic_changes import group_error
from fakemq.core import changes
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.v5.lite import (
    BIND_TOPIC,
    EXPIRATION,
    LITE_TYPE,
    belongs_to,
    lite_queue,
    parent_and_lite,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fakemq.broker.v5.broker import Broker5
    from fakemq.core.cluster import ClusterCore

_ATTRIBUTES: Final = "lite."


class LiteTopic(msgspec.Struct, frozen=True):
    """One lite topic at one broker. Times are milliseconds since the epoch."""

    name: str
    broker: str
    end_offset: int
    """How many messages it has had."""
    last_message_ms: int
    """When the last one was stored; -1 if it has none yet."""
    subscribers: tuple[tuple[str, str], ...]
    """The group and the client id of each client that subscribes to it."""


def lite_topics(core: ClusterCore, topic: str) -> list[LiteTopic]:
    """Return the lite topics of a parent that have messages or subscribers, by broker and name.

    Raise LookupError if no running master has the topic, ConfigError if it is not for lite topics.
    """
    found = []
    for broker in _brokers(core, topic):
        lite, store = broker.lite, broker.store
        queues = {one for one in lite.names() if belongs_to(one, topic)}
        queues |= {one for one in lite.subscriptions.queues() if belongs_to(one, topic)}
        for queue in sorted(queues):
            names = parent_and_lite(queue)
            if names is None:
                continue
            end = lite.end_of(queue)
            subscribers = lite.subscriptions.subscribers(topic, queue)
            found.append(
                LiteTopic(
                    name=names[1],
                    broker=broker.name,
                    end_offset=end,
                    last_message_ms=(
                        store.message_store_timestamp(queue, 0, end - 1) if end > 0 else -1
                    ),
                    subscribers=tuple(
                        (one.group, one.client_id)
                        for of_group in subscribers.values()
                        for one in of_group
                    ),
                )
            )
    return found


def bind(core: ClusterCore, topic: str, group: str, attributes: dict[str, str]) -> None:
    """Bind a group to a parent with these attributes; those of an earlier binding end.

    Raise errors as `lite_topics`, and ValueError for a name that no group can have.
    """
    if error := group_error(group):
        raise ValueError(error)
    for broker in _brokers(core, topic):
        config = broker.groups.existing(group) or SubscriptionGroupConfig(group_name=group)
        others = {
            name: value
            for name, value in (config.attributes or {}).items()
            if not name.startswith(_ATTRIBUTES)
        }
        bound = others | {BIND_TOPIC: topic} | attributes
        broker.groups.update(msgspec.structs.replace(config, attributes=bound))


def expire_after(core: ClusterCore, topic: str, minutes: int) -> None:
    """Let lite topics of a parent end after this time without a message; -1 for never.

    Raise errors as `lite_topics`.
    """
    for broker in _brokers(core, topic):
        config = broker.topics.select(topic)
        if config is not None:
            attributes = {**(config.attributes or {}), EXPIRATION: str(minutes)}
            broker.put_topic(msgspec.structs.replace(config, attributes=attributes))
    core.network.settle()


def unsubscribe(core: ClusterCore, topic: str, name: str, group: str) -> int:
    """Take a lite topic from all clients of a group, and tell them; return how many there were.

    Raise errors as `lite_topics`, and LookupError if no client of the group has it.
    """
    queue, count = lite_queue(topic, name) or "", 0
    for broker in _brokers(core, topic):
        count += broker.lite.subscriptions.take_away(group, queue)
    core.network.settle()
    if not count:
        raise LookupError(f"no client of group {group!r} subscribes to {name!r} of {topic!r}")
    return count


def _brokers(core: ClusterCore, topic: str) -> Iterator[Broker5]:
    kind = changes.message_type(core, topic)
    if kind != LITE_TYPE:
        raise ConfigError(f"topic {topic!r} is of type {kind}, not {LITE_TYPE}")
    for broker in core.running_masters():
        if broker.topics.select(topic) is None:
            continue
        if not (broker.config.enable_lmq and broker.config.enable_multi_dispatch):
            raise ConfigError(
                f"{broker.name} has no light queues, so no lite topics: start it with"
                ' config={"enableLmq": "true", "enableMultiDispatch": "true"}'
            )
        from fakemq.broker.v5.broker import Broker5  # only 5.5.0 has the type

        assert isinstance(broker, Broker5)
        yield broker
