"""The faults of clusters with controllers: of the present master, of sites, of controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.core.replicas import group_of
from fakemq.dispatch.faults import Drop
from fakemq.dispatch.node import NodeState
from fakemq.events.controller import SyncStateSetChanged
from fakemq.faults.plan import ALWAYS, Scope
from fakemq.faults.points import BEFORE_REPLY, PARTITION
from fakemq.net.faults.scopes import OTHERS, LinkScope
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.sim.fault_kinds import hold, place_link
from fakemq.sim.replica_watch import own_id_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fakemq.broker.broker import Broker
    from fakemq.controller.controller import Controller
    from fakemq.journal.entries import Entry
    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.simulation import Simulation

ALTER_SET = RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET
MASTER_OF = "master of "
"""Begins the name of a target: the broker that is the master of a group when the fault begins."""
LEAVE_MS = 1_000
"""How long a slave is away before `lose_join` lets it join again: it has left the set by then."""
LEADER = "leader of controllers"
"""The target that is whichever controller leads then."""
ALONE, BESIDE_CLIENTS, WITH_CLIENTS, WITH_NAME_SERVERS, WITH_LEADER = WAYS = range(5)
"""How a broker is isolated: from all; clients reach both sides; clients reach its side only; name
servers and clients reach both; as the second, and the leader of the controllers is beside it."""


def masters(plan: Plan) -> list[str]:
    """Return the targets that are whichever broker is the master of a group then."""
    return [f"{MASTER_OF}{name}" for name in groups(plan)]


def isolable(plan: Plan) -> Sequence[str]:
    """Return the nodes that may be cut off from the others of their group."""
    cluster = plan.cluster
    if cluster.replicas is None:
        return ()
    return [*cluster.nodes, *masters(plan) * (cluster.slaves + 1)]


def groups(plan: Plan) -> Sequence[str]:
    """Return the names of groups of replicas."""
    return () if plan.cluster.replicas is None else plan.cluster.broker_names


def controllers(plan: Plan) -> Sequence[str]:
    """Return the controllers, and the one that leads."""
    replicas = plan.cluster.replicas
    return () if replicas is None else [*replicas.nodes, *(LEADER,) * replicas.controllers]


def broker_of(sim: Simulation, fault: PlannedFault) -> Broker:
    """Return the broker that is a fault's target; the choice of a master lasts."""
    name = sim.chosen.get(fault, fault.target)
    if name.startswith(MASTER_OF):
        group = group_of(sim.core.brokers, name.removeprefix(MASTER_OF))
        name = sim.chosen[fault] = group.master or group.replicas[0]
    return sim.core.brokers[name]


def controller_of(sim: Simulation, fault: PlannedFault) -> Controller:
    """Return the controller that is a fault's target; the choice of a leader lasts."""
    found = sim.core.controllers
    assert found is not None, "a fault of controllers without any"
    name = sim.chosen.get(fault, fault.target)
    if name == LEADER:
        leader = found.group.leader
        name = sim.chosen[fault] = found.nodes[0].name if leader is None else leader.name
    return next(one for one in found.nodes if one.name == name)


def kill_controller(sim: Simulation, fault: PlannedFault) -> None:
    controller_of(sim, fault).stop("kill")


def start_controller(sim: Simulation, fault: PlannedFault) -> None:
    controller = controller_of(sim, fault)
    if controller.state is NodeState.STOPPED:
        sim.core.start_controller(controller)


def pause_controller(sim: Simulation, fault: PlannedFault) -> None:
    controller_of(sim, fault).pause()


def resume_controller(sim: Simulation, fault: PlannedFault) -> None:
    controller_of(sim, fault).resume()


def skew_controller(sim: Simulation, fault: PlannedFault) -> None:
    controller_of(sim, fault).clock.skew_ms += fault.amount


def unskew_controller(sim: Simulation, fault: PlannedFault) -> None:
    controller_of(sim, fault).clock.skew_ms -= fault.amount


def lose_join(sim: Simulation, fault: PlannedFault) -> None:
    """Let a slave join the set, lose the answer that says so, and end one of the two brokers.

    The slave is started anew, so that it joins. Then it appends nothing more, and its master is
    killed after the fault's amount; if that is 0, the slave is killed at once.
    """
    core, until_ms = sim.core, sim.core.clock.elapsed_ms() + fault.for_ms
    group = group_of(core.brokers, fault.target)
    slave = core.brokers[next(one for one in group.replicas if one != group.master)]
    sim.placed[fault] = []
    slave.kill()

    def start() -> None:
        if fault in sim.placed:  # it has not ended yet
            what, scope = f"{fault.name} of {slave.name}", Scope(code=ALTER_SET)
            lost = core.faults.place(BEFORE_REPLY, Drop(), what, scope, ALWAYS)
            sim.placed[fault].append(lost)
        if not slave.state.is_up:
            core.start_broker(slave)

    sim.after(LEAVE_MS, start)

    def changed(entry: Entry) -> None:
        change = entry.event
        assert isinstance(change, SyncStateSetChanged)
        joined = {*change.sync_state_set} - {*change.last_set}
        is_slave = change.broker_name == fault.target and own_id_of(slave) in joined
        if not is_slave or fault in sim.chosen or core.clock.elapsed_ms() >= until_ms:
            return
        sim.chosen[fault] = slave.name
        master = group_of(core.brokers, fault.target).master
        if fault.amount and master is not None:
            sim.chosen[fault] = master
            hold(sim, fault, slave)
        sim.after(fault.amount, core.brokers[sim.chosen[fault]].kill)

    core.journal.listen(changed, SyncStateSetChanged)


def start_lost(sim: Simulation, fault: PlannedFault) -> None:
    """Start the broker that `lose_join` has ended, if a slave joined at all."""
    if fault in sim.chosen and not (broker := broker_of(sim, fault)).state.is_up:
        sim.core.start_broker(broker)


def depose(sim: Simulation, fault: PlannedFault) -> None:
    found = sim.core.controllers
    if found is not None and found.group.leader is not None:
        found.group.depose()


def isolate_controller(sim: Simulation, fault: PlannedFault) -> None:
    """Cut a controller off from the other ones, and from the brokers."""
    _cut_off(sim, fault, [controller_of(sim, fault).name], [OTHERS])


def isolate(sim: Simulation, fault: PlannedFault) -> None:
    """Cut a site off: a broker, with what the fault's amount says."""
    broker, core, amount = broker_of(sim, fault), sim.core, fault.amount
    found = core.controllers
    assert found is not None, "a fault of replicas without any"
    clients = [client.name for client in sim.clients.values()]
    others = [name for name in core.brokers if name != broker.name]
    others += [controller.name for controller in found.nodes]
    servers = [server.name for server in core.name_servers]
    if amount == ALONE:
        _cut_off(sim, fault, [broker.name], [OTHERS])
    elif amount == WITH_CLIENTS:
        _cut_off(sim, fault, [broker.name, *clients], [OTHERS])
    elif amount == WITH_NAME_SERVERS:
        _cut_off(sim, fault, [broker.name], others)
    elif amount == WITH_LEADER and found.group.leader is not None:
        leader = found.group.leader.name
        others.remove(leader)
        _cut_off(sim, fault, [broker.name, leader], [*others, *servers])
    else:
        _cut_off(sim, fault, [broker.name], [*others, *servers])


def _cut_off(
    sim: Simulation, fault: PlannedFault, site: Collection[str], others: Collection[str]
) -> None:
    scope = LinkScope(node=fault.target, source=frozenset(site), target=frozenset(others))
    place_link(sim, fault, PARTITION, None, scope)
