"""Makes the controllers of a cluster: a group, its log, and the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.clock.node_clock import NodeClock
from fakemq.controller.controller import Controller
from fakemq.controller.group import NAME, ControllerGroup
from fakemq.controller.log import EventLog
from fakemq.net.outbound import Outbound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fakemq.clock.clock import Clock
    from fakemq.config.v5.controller.model import ControllerConfig
    from fakemq.config.v5.controller.spec import ControllerSpec
    from fakemq.controller.events import GroupKept
    from fakemq.faults.plan import FaultPlan
    from fakemq.journal.journal import Journal
    from fakemq.net.memory import MemoryNetwork
    from fakemq.net.outbound import OpenTcp
    from fakemq.randomness import Randomness
    from fakemq.reference import Reference


class Controllers:
    """The controllers of a cluster, as its core has them."""

    def __init__(self, group: ControllerGroup, nodes: Sequence[Controller]) -> None:
        self.group = group
        self.nodes = nodes

    def start(self, addrs: Sequence[str]) -> None:
        """Read the log, start all of them, and let the first one lead; raise ConfigError."""
        self.group.open()
        for node, addr in zip(self.nodes, addrs, strict=True):
            node.start(addr)
        self.group.elect_first()

    def stop(self) -> None:
        """Stop all of them, then close the log."""
        for node in self.nodes:
            node.stop()
        self.group.close()

    def restore(self, groups: Sequence[GroupKept], leader: str | None) -> None:
        """Know these groups alone, and have this leader; which brokers live stays as it is."""
        self.group.restore(groups, leader)
        for node in self.nodes:
            node.liveness.forget_standings()

    @property
    def clocks(self) -> list[NodeClock]:
        """The clocks of the nodes, and that of the group."""
        return [*(node.clock for node in self.nodes), self.group.clock]


def make_controllers(
    specs: Sequence[ControllerSpec],
    addrs: Sequence[str],
    clock: Clock,
    journal: Journal,
    faults: FaultPlan,
    randomness: Randomness,
    reference: Reference,
    network: MemoryNetwork,
    open_tcp: OpenTcp | None,
) -> Controllers:
    """Return controllers that are not started yet; ``specs`` has at least one, each an address."""
    config = specs[0].config
    folder = config.controller_store_path
    group = ControllerGroup(
        config,
        NodeClock(clock, NAME, journal),
        journal,
        randomness.stream(NAME),
        EventLog(folder) if folder else None,
    )
    nodes = []
    ids = [spec.peer_id or addr for spec, addr in zip(specs, addrs, strict=True)]
    for spec, peer_id in zip(specs, ids, strict=True):
        own = (NodeClock(clock, spec.name, journal), journal, faults, reference, group)
        config = _with_addresses(spec.config, peer_id, ids, addrs)
        node = Controller(spec.name, peer_id, config, *own)
        given: Any = config  # it has the keys of NettyClientConfig, as rows of a table
        node.outbound = Outbound(node, network, open_tcp, config=given)
        nodes.append(node)
    return Controllers(group, nodes)


def _with_addresses(
    config: ControllerConfig, peer_id: str, ids: Sequence[str], addrs: Sequence[str]
) -> ControllerConfig:
    """Return a config with the addresses of the group, as a file of Java has them."""
    found = config.copy()
    if config.is_jraft:
        found.j_raft_server_id, found.j_raft_init_conf = peer_id, ",".join(ids)
        found.j_raft_controller_r_p_c_addr = ",".join(addrs)
        return found
    peers = [f"{id_}-{addr}" for id_, addr in zip(ids, addrs, strict=True)]
    found.controller_d_leger_self_id = peer_id
    found.controller_d_leger_peers = ";".join(peers)
    return found
