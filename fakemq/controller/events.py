"""The entries of the controllers' log: each changes the state of one group.

Their fields are those of Java's events. Java keeps its log as long as the store lives; here a log
that has grown is written anew with one `GroupKept` for each group.

Source: controller/impl/event/ (5.5.0)
"""

from __future__ import annotations

import msgspec

from fakemq.protocol.bodies.body import Int, Long


class ControllerEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type"):
    """A change of one group."""

    broker_name: str


class AlterSyncStateSetEvent(ControllerEvent, frozen=True, kw_only=True, tag="alterSyncStateSet"):
    """The master has another set of replicas that are in sync."""

    new_sync_state_set: tuple[Long, ...]


class ApplyBrokerIdEvent(ControllerEvent, frozen=True, kw_only=True, tag="applyBrokerId"):
    """A broker has an id; the first one of a group makes the group."""

    cluster_name: str | None
    broker_address: str
    new_broker_id: Long
    register_check_code: str


class ElectMasterEvent(ControllerEvent, frozen=True, kw_only=True, tag="electMaster"):
    """A master was elected, alone in its set; or none, and then the old one is forgotten."""

    new_master_broker_id: Long | None


class CleanBrokerDataEvent(ControllerEvent, frozen=True, kw_only=True, tag="cleanBrokerData"):
    """Some ids of a group are forgotten; without ids the group is."""

    broker_id_set_to_clean: tuple[Long, ...]


class UpdateBrokerAddressEvent(
    ControllerEvent, frozen=True, kw_only=True, tag="updateBrokerAddress"
):
    """A broker has registered from another address than before."""

    broker_address: str
    broker_id: Long


class GroupKept(ControllerEvent, frozen=True, kw_only=True, tag="group"):
    """A group as it was when the log was written anew; a ``master_epoch`` of None: no set."""

    cluster_name: str | None
    next_broker_id: Long
    replicas: dict[Long, tuple[str, str]]
    """Id → address and check code."""
    master_epoch: Int | None
    sync_state_set_epoch: Int
    sync_state_set: tuple[Long, ...]
    master_broker_id: Long | None
