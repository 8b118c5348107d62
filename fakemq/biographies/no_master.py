"""Finds out why a group of replicas under controllers has no master."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.dispatch.node import NodeState

if TYPE_CHECKING:
    from fakemq.broker.broker import Broker
    from fakemq.core.cluster import ClusterCore

JOINS = (
    "is not in the sync state set until it has the log of the next master, 5 to 35 s after an"
    " election: advance the clock between two fail-overs"
)


def without_master(core: ClusterCore) -> list[str]:
    """Return one line for each group of the cluster's own brokers that has no master now."""
    if core.controllers is None:
        return []
    from fakemq.core.replicas import group_of  # few clusters have controllers

    names = dict.fromkeys(one.config.broker_name for one in core.brokers.values())
    return [
        f"{name} has no master: {why_without_master(core, name)}"
        for name in names
        if group_of(core.brokers, name).master is None
    ]


def why_without_master(core: ClusterCore, broker_name: str) -> str:
    """Return why the controllers elect no master of a group."""
    assert core.controllers is not None, "a group without controllers"
    controllers = core.controllers.group
    if controllers.leader is None:
        return "no controller leads"
    sync = controllers.state.sync_state_infos.get(broker_name)
    if sync is None:
        return "the controllers do not know the group"
    own = [one for one in core.brokers.values() if one.config.broker_name == broker_name]
    members = {one: broker for broker in own if (one := _id_of(broker)) in sync.sync_state_set}
    said = [f"{one.name} is {one.state.value}" for one in members.values()]
    said += [
        f"id {one} is none of this cluster" for one in sorted(sync.sync_state_set - {*members})
    ]
    late = [
        f"{one.name} {JOINS}"
        for one in own
        if one.state is NodeState.RUNNING and one not in members.values()
    ]
    return "; ".join([f"of its sync state set {', '.join(said) or 'none is left'}", *late])


def _id_of(broker: Broker) -> int | None:
    from fakemq.broker.v5.broker import Broker5  # few brokers are of 5.5.0

    return broker.replicas.own_id if isinstance(broker, Broker5) and broker.replicas else None
