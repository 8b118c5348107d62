"""Endpoints of controllers, and of the groups of replicas whose masters they elect."""

from __future__ import annotations

import msgspec

from fakemq.clock.slices import Steps
from fakemq.control.control import Control
from fakemq.control.endpoints import endpoint
from fakemq.control.nodes import changed
from fakemq.core.cluster import ClusterCore
from fakemq.handles.controllers import ControllerHandle


class ControllerState(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """Its node's name, such as ``controller-0``."""
    state: str
    """``running``, ``paused`` or ``stopped``."""
    leads: bool
    """Whether it is the leader, which alone elects."""
    addr: str

    @classmethod
    def of(cls, node: ControllerHandle) -> ControllerState:
        return cls(name=node.name, state=node.state, leads=node.leads, addr=node.addr)


class ReplicaGroupState(msgspec.Struct, frozen=True, kw_only=True):
    """A group of replicas, as the controllers know it."""

    broker_name: str
    master: int | None
    """The id of the master; null without one."""
    master_epoch: int
    in_sync: list[int]
    """The ids of the replicas in sync."""
    sync_state_set_epoch: int
    replicas: dict[int, str]
    """Id → ``host:port``."""
    elected_at_ms: int | None
    """When the last election was, in ms of the cluster's wall time; null for one of before the
    start."""
    why: str
    """Why it was: ``asked`` by a broker, ``designated`` by an admin, or ``inactive``."""


@endpoint("GET", "/v1/controllers")
def get_controllers(control: Control) -> list[ControllerState]:
    """Return every controller, in the order of their names."""
    return [*map(ControllerState.of, control.mq.controllers)]


@endpoint("GET", "/v1/replica-groups")
async def get_replica_groups(control: Control) -> list[ReplicaGroupState]:
    """Return the groups that the controllers know, by name."""
    return await control.server.carry_out(replica_groups(control.core))


@endpoint("POST", "/v1/controllers/{controller}/kill")
async def kill_controller(control: Control, controller: str) -> ControllerState:
    """Kill a controller at once, as by kill -9; another one takes over from a leader."""
    node = control.mq.controllers[controller]
    return await changed(control, node, node.kill, ControllerState.of)


@endpoint("POST", "/v1/controllers/{controller}/stop")
async def stop_controller(control: Control, controller: str) -> ControllerState:
    """Stop a controller; for the others this is like a kill."""
    node = control.mq.controllers[controller]
    return await changed(control, node, node.stop, ControllerState.of)


@endpoint("POST", "/v1/controllers/{controller}/restart")
async def restart_controller(control: Control, controller: str) -> ControllerState:
    """Start a controller again at the same address; it knows no living broker until one beats."""
    node = control.mq.controllers[controller]
    return await changed(control, node, node.restart, ControllerState.of)


@endpoint("POST", "/v1/controllers/{controller}/pause")
async def pause_controller(control: Control, controller: str) -> ControllerState:
    """Pause a controller, as by SIGSTOP: sockets stay open, it answers nothing, no timer fires."""
    node = control.mq.controllers[controller]
    return await changed(control, node, node.pause, ControllerState.of)


@endpoint("POST", "/v1/controllers/{controller}/resume")
async def resume_controller(control: Control, controller: str) -> ControllerState:
    """Resume a controller, as a follower: it handles what arrived during the pause."""
    node = control.mq.controllers[controller]
    return await changed(control, node, node.resume, ControllerState.of)


def replica_groups(core: ClusterCore) -> Steps[list[ReplicaGroupState]]:
    """Return the groups that the controllers know, by name; none without controllers."""
    if core.controllers is None:
        return []
    state, elections, found = core.controllers.group.state, core.controllers.group.elections, []
    for name in sorted(state.sync_state_infos):
        group, election = state.group(name), elections.get(name)
        if group is not None:
            replicas, sync = group
            found.append(
                ReplicaGroupState(
                    broker_name=name,
                    master=sync.master_broker_id,
                    master_epoch=sync.master_epoch,
                    in_sync=sorted(sync.sync_state_set),
                    sync_state_set_epoch=sync.sync_state_set_epoch,
                    replicas={id_: one.address for id_, one in replicas.replicas.items()},
                    elected_at_ms=None if election is None else election.at_ms,
                    why="" if election is None else election.why,
                )
            )
        yield
    return found
