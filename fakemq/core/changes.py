"""Changes of a running cluster by tests: topics and groups as admin tools change them, configs as
files.

Each change is made at every running master and then registered at the name servers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack, get_type_hints

import msgspec
import msgspec.structs

from fakemq.broker.sending.checks import check_not_system_topic
from fakemq.broker.v5.topic_changes import group_error
from fakemq.clock.slices import finished
from fakemq.config.checked import MAX_QUEUES, check_message_type, whole
from fakemq.config.files import load, require_broker
from fakemq.config.layout import settled
from fakemq.config.model import BrokerConfig
from fakemq.core.near_names import no_master_has
from fakemq.dispatch.answers import Refused
from fakemq.errors import ArgumentError, ConfigError
from fakemq.protocol.bodies.group import V5_SETTINGS, SubscriptionGroupConfig
from fakemq.protocol.header import camel_case
from fakemq.protocol.message_types import MESSAGE_TYPE, NORMAL
from fakemq.protocol.sysflag import PermName

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.config.files import ConfigSource
    from fakemq.core.cluster import ClusterCore
    from fakemq.protocol.bodies.topic import TopicConfig

_KEPT = {
    *("broker_name", "listen_port", "rocketmq_home", "enable_controller_mode"),
    *("store_path_root_dir", "store_path_commit_log", "read_only_commit_log_store_paths"),
}
_PERMS = {"R": PermName.READ, "W": PermName.WRITE}


class GroupSettings(TypedDict, total=False):
    """The settings of a consumer group that tests can change.

    Source: common/subscription/SubscriptionGroupConfig.java (4.9.7, 5.5.0)
    """

    consume_enable: bool
    """Whether members may pull; False suspends the group."""
    consume_from_min_enable: bool
    consume_broadcast_enable: bool
    """Whether members in broadcast mode may pull."""
    retry_queue_nums: int
    """Queues of a retry topic that is created later; 0 drops messages that are sent back."""
    retry_max_times: int
    """How often a message is retried before it becomes a dead letter."""
    broker_id: int
    which_broker_when_consume_slowly: int
    notify_consumer_ids_changed_enable: bool
    consume_message_orderly: bool
    """Whether gRPC clients of the group consume in order; only a cluster of 5.5.0 has it."""


def perm_of(letters: str) -> int:
    """Return the permission of ``RW``, ``R``, ``W`` or ``""``; raise ValueError for other texts."""
    if not set(letters) <= _PERMS.keys():
        raise ValueError(f"perm {letters!r}: expected RW, R, W or nothing")
    return sum({_PERMS[letter] for letter in letters})


def check_queues(read_queues: int | None, write_queues: int | None) -> None:
    """Raise ConfigError for numbers of queues that no topic can have; None is not checked."""
    whole("read_queue_nums", 1 if read_queues is None else read_queues, 1, MAX_QUEUES)
    # Without write queues a topic is drained.
    whole("write_queue_nums", 1 if write_queues is None else write_queues, 0, MAX_QUEUES)


def change_topic(
    core: ClusterCore,
    topic: str,
    *,
    read_queues: int | None = None,
    write_queues: int | None = None,
    perm: int | None = None,
) -> None:
    """Change a topic at every running master that has it; None keeps a value.

    Raise LookupError if no running master has it, ValueError for a system topic, ConfigError for
    impossible numbers of queues.
    """
    changes: dict[str, int | None] = {
        "read_queue_nums": read_queues,
        "write_queue_nums": write_queues,
        "perm": perm,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    found = False
    check_queues(read_queues, write_queues)
    _check_not_system_topic(core, topic)
    for broker in core.running_masters():
        config = broker.topics.select(topic)
        if config is not None:
            broker.put_topic(msgspec.structs.replace(config, **changes))
            found = True
    if not found:
        raise no_master_has(core, topic)
    core.network.settle()


def delete_topic(core: ClusterCore, topic: str) -> None:
    """Delete a topic at every master, then at every name server.

    Raise ValueError for a system topic.
    """
    _check_not_system_topic(core, topic)
    for broker in core.running_masters():
        broker.delete_topic(topic)
    for name_server in core.name_servers:
        name_server.registration.delete_topic(topic)


def change_group(core: ClusterCore, group: str, **settings: Unpack[GroupSettings]) -> None:
    """Change a group at every running master; create it if it does not exist.

    Raise TypeError for an unknown setting, ValueError for a name that no group can have, a bad
    value or a setting that this release lacks, LookupError if no master runs.
    """
    if error := group_error(group):
        raise ValueError(error)
    for name, value in settings.items():
        _check_setting(name, value)
    masters = core.running_masters()
    if not masters:
        raise LookupError(f"no running master to change group {group} at")
    for broker in masters:
        for name in {*V5_SETTINGS} & settings.keys() - broker.reference.group_settings.keys():
            raise ValueError(f"groups of {broker.name} have no {name}: use reference='5.5.0'")
    for broker in masters:
        config = broker.groups.existing(group) or SubscriptionGroupConfig(group_name=group)
        broker.groups.update(msgspec.structs.replace(config, **settings))


def delete_group(core: ClusterCore, group: str, *, offsets: bool) -> None:
    """Delete a group at every master; with ``offsets`` its committed offsets, too."""
    for broker in core.running_masters():
        broker.groups.delete(group)
        if offsets:
            finished(broker.offsets.remove(group))


def reconfigured(config: BrokerConfig, source: ConfigSource) -> BrokerConfig:
    """Return a broker's config after a change to its file; ids follow from roles as at every start.

    Raise ConfigError for invalid values, and for values that only another broker could have.
    """
    settings = load(source, type(config), strict=True)
    for attribute in _KEPT & settings.values.keys():
        if settings.values[attribute] != getattr(config, attribute):
            key = camel_case(attribute)
            raise ConfigError(f"{settings.where[attribute]}: a broker keeps its {key}")
    elected = [key for key in ("broker_id", "broker_role") if key in settings.values]
    if config.has_controller and elected:
        where, name = settings.where[elected[0]], camel_case(elected[0])
        raise ConfigError(f"{where}: {name}: the controllers elect; use mq.failover()")
    changed = config.copy()
    changed.assign(settings.values)
    settled(changed, settings)
    require_broker(changed)
    return changed


def _check_not_system_topic(core: ClusterCore, topic: str) -> None:
    for broker in core.running_masters():
        try:
            check_not_system_topic(broker, topic)
        except Refused as refused:
            raise ValueError(refused.remark) from None


def _check_setting(name: str, value: object) -> None:
    if name not in GroupSettings.__annotations__:
        raise ArgumentError(
            f"a group has no {name}; it has: {', '.join(GroupSettings.__annotations__)}"
        )
    expected = get_type_hints(SubscriptionGroupConfig, include_extras=True)[name]
    try:
        msgspec.convert(value, expected)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name} {value!r}: {error}") from None
    if name in ("retry_queue_nums", "retry_max_times") and isinstance(value, int) and value < 0:
        raise ValueError(f"{name} {value!r}: expected a whole number, 0 or more")


# The message types of topics, an attribute that topics of 5.5.0 have.
#
# Source: common/TopicConfig.java#getTopicMessageType (5.5.0)
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
