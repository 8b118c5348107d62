"""What controllers and replicas know at one moment, as a value, and how to restore it.

A restored replica registers as after a restart, with its id. The controllers say what they said
then, so each group has its master, its epoch and its set again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.broker.v5.broker import Broker5
from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
from fakemq.ha.autoswitch.service import AutoSwitchHAService

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fakemq.broker.broker import Broker
    from fakemq.broker.v5.replicas.manager import ReplicasManager
    from fakemq.controller.events import GroupKept
    from fakemq.controller.making import Controllers


class ReplicaImage(NamedTuple):
    """What makes a broker the replica that it is."""

    identity: str | None
    """The text of ``brokerIdentity``; None for a broker that has no id yet."""
    epochs: str | None
    """The text of ``epochFileCheckpoint``; None for a log without epochs."""
    confirm_offset: int


class ReplicasImage(NamedTuple):
    """The replicas of a cluster by node name, and what its controllers know."""

    replicas: Mapping[str, ReplicaImage]
    groups: tuple[GroupKept, ...]
    leader: str | None
    """The controller that led; None if none did."""


class ManagedReplica(NamedTuple):
    """A broker under a controller, and its parts."""

    broker: Broker5
    manager: ReplicasManager
    store: ConfirmedStore


def image_of(brokers: Mapping[str, Broker], controllers: Controllers) -> ReplicasImage:
    """Return what the controllers and the replicas know now."""
    group = controllers.group
    return ReplicasImage(
        {
            name: ReplicaImage(
                one.manager.identity.text, one.store.epoch_file.read(), one.store.confirm_offset
            )
            for name, one in replicas_of(brokers).items()
        },
        group.kept(),
        None if group.leader is None else group.leader.name,
    )


def prepare(brokers: Mapping[str, Broker], image: ReplicasImage) -> None:
    """End the roles of all replicas, and give each its files; the stores come next."""
    for name, one in replicas_of(brokers).items():
        one.manager.forget()
        one.store.epoch_file.delete()
        found = image.replicas.get(name)
        if found is not None and found.identity is not None:
            one.manager.identity.put(found.identity)
        if found is not None and found.epochs is not None:
            one.store.epoch_file.write(found.epochs)


def take_up(
    brokers: Mapping[str, Broker],
    controllers: Controllers,
    image: ReplicasImage,
    settle: Callable[[], None],
) -> None:
    """Let the controllers say what they said, and the replicas register, masters first."""
    controllers.restore(image.groups, image.leader)
    replicas = replicas_of(brokers)
    state = controllers.group.state
    slaves = []
    for name, one in replicas.items():
        found = image.replicas.get(name)
        if found is not None:
            one.store.confirm_offset = found.confirm_offset
        sync = state.sync_state_infos.get(one.broker.config.broker_name)
        own_id = one.manager.identity.own_id
        if sync is None or own_id is None or own_id != sync.master_broker_id:
            slaves.append(one)
            continue
        ha = one.broker.replication()
        assert isinstance(ha, AutoSwitchHAService)
        epochs = ha.epochs.copy()
        ha.expect(sync.sync_state_set)
        one.manager.start()
        settle()
        ha.epochs.take(epochs)  # the beginning of its epoch is where it was
    for one in slaves:
        one.manager.start()
        settle()


def replicas_of(brokers: Mapping[str, Broker]) -> dict[str, ManagedReplica]:
    """Return the brokers under a controller, by node name."""
    return {
        name: ManagedReplica(broker, broker.replicas, broker.store)
        for name, broker in brokers.items()
        if isinstance(broker, Broker5)
        and broker.replicas is not None
        and isinstance(broker.store, ConfirmedStore)
    }
