"""What controllers and replicas know at one moment, as a value, and how to restore it.

A restored replica registers as after a restart, with its id. The controllers say what they said
then, so each group has its master, its epoch and its set again. What keeps a broker from hearing
this is refused before anything changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.broker.v5.broker import Broker5
from fakemq.broker.v5.replicas.identity import store_errors
from fakemq.errors import ConfigError, FakemqError
from fakemq.faults.points import BEFORE_REPLY, BEFORE_STORE, LINK_POINTS, SLICE
from fakemq.ha.autoswitch.confirmed_store import ConfirmedStore
from fakemq.ha.autoswitch.service import AutoSwitchHAService
from fakemq.net.faults.scopes import Passing, inside
from fakemq.protocol.v5.codes import RequestCode5

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from fakemq.broker.broker import Broker
    from fakemq.broker.v5.replicas.manager import ReplicasManager
    from fakemq.controller.events import GroupKept
    from fakemq.controller.making import Controllers
    from fakemq.faults.plan import ActiveFault, FaultPlan

_ASKED = frozenset(
    (RequestCode5.CONTROLLER_GET_METADATA_INFO, RequestCode5.CONTROLLER_REGISTER_BROKER)
)
"""What a replica asks until it has its role."""


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
    """Return what the controllers and the replicas know now.

    Raise StoreError for a file that cannot be read.
    """
    group = controllers.group
    return ReplicasImage(
        {
            name: ReplicaImage(
                one.manager.identity.text, _epochs_of(one.store), one.store.confirm_offset
            )
            for name, one in replicas_of(brokers).items()
        },
        group.kept(),
        None if group.leader is None else group.leader.name,
    )


def require_reach(
    brokers: Mapping[str, Broker], controllers: Controllers, faults: FaultPlan
) -> None:
    """Raise ConfigError if a fault keeps the replicas from the controllers, which run all."""
    for placed in (*controllers.group.split_by(), *_hindering(brokers, controllers, faults)):
        raise ConfigError(
            f"restore: fault {placed.number} ({placed.what}) keeps brokers from what the"
            " controllers say of their roles: remove it before, and place it again afterwards"
        )


def _hindering(
    brokers: Mapping[str, Broker], controllers: Controllers, faults: FaultPlan
) -> Iterator[ActiveFault[Any]]:
    """Iterate over the faults that may act on what replicas ask controllers, or on the answer."""
    nodes = {one.name: inside(one.name, one.addr) for one in controllers.nodes}
    ways = [
        Passing(source=inside(name, one.broker.addr), target=node, language="remoting")
        for name, one in replicas_of(brokers).items()
        for node in nodes.values()
    ]
    for point in (point for point in LINK_POINTS if point is not SLICE):  # slices arrive at once
        for placed in faults.at(point):
            if any(placed.scope.covers(one) or placed.scope.covers(one.back()) for one in ways):
                yield placed
    for point in (BEFORE_STORE, BEFORE_REPLY):
        for placed in faults.at(point):
            code, node = placed.scope.code, placed.scope.node
            codes = code if isinstance(code, frozenset) else {code}
            if (code is None or _ASKED & codes) and (node is None or node in nodes):
                yield placed


def prepare(brokers: Mapping[str, Broker], controllers: Controllers, image: ReplicasImage) -> None:
    """Let the controllers say what they said, end the roles of all replicas, give them their files.

    The stores come next. Raise StoreError where a disk refuses; of the controllers' log before
    anything has changed.
    """
    controllers.restore(image.groups, image.leader)
    for name, one in replicas_of(brokers).items():
        one.manager.stop()
        one.manager.fence()
        found = image.replicas.get(name)
        if found is None or found.identity is None:
            one.manager.identity.forget()
        else:
            one.manager.identity.put(found.identity)
        file = one.store.epoch_file
        with store_errors(file):
            file.delete()
            if found is not None and found.epochs is not None:
                file.write(found.epochs)


def _epochs_of(store: ConfirmedStore) -> str | None:
    with store_errors(store.epoch_file):
        return store.epoch_file.read()


def take_up(
    brokers: Mapping[str, Broker],
    controllers: Controllers,
    image: ReplicasImage,
    settle: Callable[[], None],
) -> None:
    """Let the replicas register, masters first; raise FakemqError if one does not lead then."""
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
        if not one.manager.is_master or one.manager.master_epoch != sync.master_epoch:
            raise FakemqError(
                f"restore: {name} did not become the master of epoch {sync.master_epoch}, which it"
                " is in the snapshot; its warnings in the journal may say why, mq.reset() begins"
                " again"
            )
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
