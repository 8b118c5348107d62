"""What tests change of a running cluster's topics and groups, as admin tools do.

Everything happens at every running master, and name servers are told as those tools tell them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

import msgspec

from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.sysflag import PermName

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.cluster_core import ClusterCore

_PERMS = {"R": PermName.READ, "W": PermName.WRITE}


class GroupSettings(TypedDict, total=False):
    """What can be set of a consumer group.

    Source: common/subscription/SubscriptionGroupConfig.java (4.9.7)
    """

    consume_enable: bool
    """Whether members may pull; False suspends the group."""
    consume_from_min_enable: bool
    consume_broadcast_enable: bool
    """Whether members in broadcast mode may pull."""
    retry_queue_nums: int
    """Queues of a retry topic that is made from now on; 0 drops what is sent back."""
    retry_max_times: int
    """How often a message is tried again before it is a dead letter."""
    broker_id: int
    which_broker_when_consume_slowly: int
    notify_consumer_ids_changed_enable: bool


def perm_of(letters: str) -> int:
    """The permission that ``RW``, ``R``, ``W`` or nothing stand for; ValueError for others."""
    if not set(letters) <= _PERMS.keys():
        raise ValueError(f"perm {letters!r}: expected RW, R, W or nothing")
    return sum({_PERMS[letter] for letter in letters})


def change_topic(
    core: ClusterCore,
    topic: str,
    *,
    read_queues: int | None = None,
    write_queues: int | None = None,
    perm: int | None = None,
) -> None:
    """Change a topic wherever it is; None leaves a value alone. LookupError if it is nowhere."""
    changes = {"read_queue_nums": read_queues, "write_queue_nums": write_queues, "perm": perm}
    changes = {name: value for name, value in changes.items() if value is not None}
    found = False
    for broker in _masters(core):
        config = broker.topics.select(topic)
        if config is not None:
            broker.put_topic(msgspec.structs.replace(config, **changes))
            found = True
    if not found:
        raise LookupError(f"no running master has a topic {topic}")
    core.network.settle()


def delete_topic(core: ClusterCore, topic: str) -> None:
    """Delete a topic at every master, then at every name server."""
    for broker in _masters(core):
        broker.delete_topic(topic)
    for name_server in core.name_servers:
        name_server.registration.delete_topic(topic)


def change_group(core: ClusterCore, group: str, **settings: Unpack[GroupSettings]) -> None:
    """Change a group, or create it so, at every master."""
    for broker in _masters(core):
        config = broker.groups.snapshot().get(group) or SubscriptionGroupConfig(group_name=group)
        broker.groups.update(msgspec.structs.replace(config, **settings))


def delete_group(core: ClusterCore, group: str, *, offsets: bool) -> None:
    """Delete a group at every master, with what it has consumed if ``offsets``."""
    for broker in _masters(core):
        broker.groups.delete(group)
        if offsets:
            broker.offsets.remove(group)


def _masters(core: ClusterCore) -> list[Broker]:
    # A paused broker would register, and one that is down would have the change when it is back.
    return [
        broker
        for broker in core.brokers.values()
        if broker.state == "running" and not broker.config.is_slave
    ]
