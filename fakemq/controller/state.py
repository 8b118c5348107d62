"""What controllers know of the groups of replicas, and how an event changes it.

Java's two tables are kept apart: after ids were cleaned, a group may have replicas and no set. Such
a group counts as unknown, but its ids continue.

Source: controller/impl/manager/ReplicasInfoManager.java, BrokerReplicaInfo.java,
SyncStateInfo.java (5.5.0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fakemq.controller.events import (
    AlterSyncStateSetEvent,
    ApplyBrokerIdEvent,
    CleanBrokerDataEvent,
    ControllerEvent,
    ElectMasterEvent,
    GroupKept,
    UpdateBrokerAddressEvent,
)

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_BROKER_CONTROLLER_ID = 1
"""Source: common/MixAll.java#FIRST_BROKER_CONTROLLER_ID (5.5.0)"""
MOST_CHARS = 1_000
"""How long a name, an address or a check code may be that is kept; Java takes any length."""


class RegisteredReplica(msgspec.Struct, frozen=True):
    """A broker that has an id of its group."""

    address: str
    """``host:port``"""
    check_code: str
    """What it applied with; the same text again is the same broker."""


class BrokerReplicaInfo(msgspec.Struct):
    """The brokers of a group, by id."""

    cluster: str | None
    """None if the first that applied named none."""
    next_broker_id: int = FIRST_BROKER_CONTROLLER_ID
    """Counts applications: an id that was cleaned is not used again."""
    replicas: dict[int, RegisteredReplica] = {}

    def address(self, broker_id: int | None) -> str | None:
        """Return ``host:port`` of an id; None for no id, and for one that is free."""
        found = None if broker_id is None else self.replicas.get(broker_id)
        return None if found is None else found.address


class SyncStateInfo(msgspec.Struct):
    """The master of a group, and the replicas in sync. Both epochs count changes, from 0."""

    cluster: str | None
    master_epoch: int = 0
    sync_state_set_epoch: int = 0
    sync_state_set: frozenset[int] = frozenset()
    master_broker_id: int | None = None


class State(msgspec.Struct):
    """All groups, by broker name."""

    replica_infos: dict[str, BrokerReplicaInfo] = {}
    sync_state_infos: dict[str, SyncStateInfo] = {}

    def group(self, broker_name: str) -> tuple[BrokerReplicaInfo, SyncStateInfo] | None:
        """Return both halves of a group; None for an unknown group, and one that lacks a half."""
        replicas = self.replica_infos.get(broker_name)
        sync = self.sync_state_infos.get(broker_name)
        return None if replicas is None or sync is None else (replicas, sync)

    def kept(self, broker_name: str) -> GroupKept:
        """Return the event that makes a known group as it is; raise KeyError for an unknown one."""
        replicas = self.replica_infos[broker_name]
        sync = self.sync_state_infos.get(broker_name)
        return GroupKept(
            broker_name=broker_name,
            cluster_name=replicas.cluster,
            next_broker_id=replicas.next_broker_id,
            replicas={id_: (one.address, one.check_code) for id_, one in replicas.replicas.items()},
            master_epoch=None if sync is None else sync.master_epoch,
            sync_state_set_epoch=0 if sync is None else sync.sync_state_set_epoch,
            sync_state_set=() if sync is None else tuple(sorted(sync.sync_state_set)),
            master_broker_id=None if sync is None else sync.master_broker_id,
        )


def apply(state: State, event: ControllerEvent) -> None:
    """Change ``state`` as ``event`` says; an event of a group that is unknown changes nothing.

    Source: controller/impl/manager/ReplicasInfoManager.java#applyEvent (5.5.0)
    """
    _APPLIED[type(event)](state, event)


def _alter_sync_state_set(state: State, event: AlterSyncStateSetEvent) -> None:
    group = state.group(event.broker_name)
    if group is not None:
        _set_sync_state_set(group[1], frozenset(event.new_sync_state_set))


def _apply_broker_id(state: State, event: ApplyBrokerIdEvent) -> None:
    name = event.broker_name
    group = state.group(name)
    if group is not None:
        replicas = group[0]
        if event.new_broker_id in replicas.replicas:
            return
    else:
        # Replicas without a set are forgotten with their counter, as in Java.
        replicas = state.replica_infos[name] = BrokerReplicaInfo(event.cluster_name)
        state.sync_state_infos[name] = SyncStateInfo(event.cluster_name)
    replicas.replicas[event.new_broker_id] = RegisteredReplica(
        event.broker_address, event.register_check_code
    )
    replicas.next_broker_id += 1


def _elect_master(state: State, event: ElectMasterEvent) -> None:
    group = state.group(event.broker_name)
    if group is None:
        return
    sync = group[1]
    sync.master_broker_id = event.new_master_broker_id
    sync.master_epoch += 1
    if event.new_master_broker_id is not None:
        _set_sync_state_set(sync, frozenset({event.new_master_broker_id}))


def _clean_broker_data(state: State, event: CleanBrokerDataEvent) -> None:
    name = event.broker_name
    if not event.broker_id_set_to_clean:
        state.replica_infos.pop(name, None)
        state.sync_state_infos.pop(name, None)
        return
    group = state.group(name)
    if group is None:
        return
    replicas, sync = group
    sync.sync_state_set -= frozenset(event.broker_id_set_to_clean)  # its epoch stays
    for broker_id in event.broker_id_set_to_clean:
        replicas.replicas.pop(broker_id, None)
    if not replicas.replicas:
        del state.replica_infos[name]
    if not sync.sync_state_set:
        del state.sync_state_infos[name]


def _update_broker_address(state: State, event: UpdateBrokerAddressEvent) -> None:
    info = state.replica_infos.get(event.broker_name)
    old = None if info is None else info.replicas.get(event.broker_id)
    if info is not None and old is not None:
        info.replicas[event.broker_id] = RegisteredReplica(event.broker_address, old.check_code)


def _keep_group(state: State, event: GroupKept) -> None:
    name, cluster = event.broker_name, event.cluster_name
    state.replica_infos[name] = BrokerReplicaInfo(
        cluster,
        event.next_broker_id,
        {id_: RegisteredReplica(*one) for id_, one in event.replicas.items()},
    )
    if event.master_epoch is None:
        state.sync_state_infos.pop(name, None)
    else:
        state.sync_state_infos[name] = SyncStateInfo(
            cluster,
            event.master_epoch,
            event.sync_state_set_epoch,
            frozenset(event.sync_state_set),
            event.master_broker_id,
        )


def _set_sync_state_set(sync: SyncStateInfo, members: frozenset[int]) -> None:
    sync.sync_state_set = members
    sync.sync_state_set_epoch += 1


_APPLIED: dict[type[ControllerEvent], Callable[[State, Any], None]] = {
    AlterSyncStateSetEvent: _alter_sync_state_set,
    ApplyBrokerIdEvent: _apply_broker_id,
    ElectMasterEvent: _elect_master,
    CleanBrokerDataEvent: _clean_broker_data,
    UpdateBrokerAddressEvent: _update_broker_address,
    GroupKept: _keep_group,
}
