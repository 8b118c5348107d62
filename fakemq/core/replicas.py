"""Groups of brokers under controllers, as a core makes them and a test sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fakemq.broker.v5.broker import Broker5

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fakemq.broker.broker import Broker
    from fakemq.broker.v5.replicas.manager import ReplicasManager
    from fakemq.controller.making import Controllers


class ReplicaGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group of replicas at one moment, as its brokers know it."""

    name: str
    """The brokerName that all of them have."""
    master: str | None
    """The name of the node that is the master; None while there is none."""
    epoch: int
    """That of the last master that a replica knows; 0 before the first."""
    in_sync: tuple[str, ...]
    """The nodes in the controller's set, as the master knows it; empty without a master."""
    confirm_offset: int
    """Up to which offset of its log the master knows that all of these have it; in bytes."""
    replicas: tuple[str, ...]
    """The nodes of the group, also those that are down."""


def begin_again(
    brokers: Iterable[Broker], controllers: Controllers, settle: Callable[[], None]
) -> None:
    """Let the controllers forget the cluster's brokers, and these register anew, in their order.

    So each node has the id of its name again, and the first of a group is its master. Groups of
    brokers outside the cluster stay: Java's do not apply for an id twice.
    """
    replicas = [one for one in brokers if isinstance(one, Broker5)]
    names = dict.fromkeys(broker.config.broker_name for broker in replicas)
    controllers.group.forget(names)
    for broker in replicas:
        if broker.replicas is not None:
            broker.replicas.start()
            settle()


def group_of(brokers: Mapping[str, Broker], broker_name: str) -> ReplicaGroup:
    """Return the group of this brokerName; raise LookupError if it has none."""
    groups: dict[str, dict[str, ReplicasManager]] = {}
    for node, broker in brokers.items():
        if isinstance(broker, Broker5) and broker.replicas is not None:
            groups.setdefault(broker.config.broker_name, {})[node] = broker.replicas
    if not groups:
        raise LookupError(
            "a group of replicas needs controllers, as in Cluster(slaves=2, controllers=1)"
        )
    if broker_name not in groups:
        there = ", ".join(sorted(groups))
        raise LookupError(f"no group of replicas {broker_name!r}; there are: {there}")
    members = groups[broker_name]
    running = {node: one for node, one in members.items() if brokers[node].running}
    epoch = max(one.master_epoch for one in (running or members).values())
    masters = [node for node, one in running.items() if one.is_master and one.master_epoch == epoch]
    master = masters[0] if masters else None
    return ReplicaGroup(
        name=broker_name,
        master=master,
        epoch=epoch,
        in_sync=() if master is None else _named(members, members[master]),
        confirm_offset=0 if master is None else members[master].confirm_offset,
        replicas=tuple(members),
    )


def _named(members: dict[str, ReplicasManager], master: ReplicasManager) -> tuple[str, ...]:
    """Return the names of the nodes that the master has in its set; an id for one elsewhere."""
    names = {one.own_id: node for node, one in members.items()}
    return tuple(names.get(one, f"id {one}") for one in sorted(master.sync_state_set))
