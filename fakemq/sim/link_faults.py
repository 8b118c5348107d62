"""Faults that a plan may draw for links between nodes, and between clients and nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fakemq.faults.plan import ALWAYS, ONCE, Point, When
from fakemq.faults.points import (
    BANDWIDTH,
    CUT,
    HOLD_LINK,
    LATENCY,
    PARTITION,
    RESET,
    SLICE,
    Latency,
)
from fakemq.net.faults.links import plan_of
from fakemq.net.faults.scopes import LinkScope
from fakemq.sim.history import MASTER
from fakemq.sim.plan import FRONT

if TYPE_CHECKING:
    import random

    from fakemq.sim.plan import Plan, PlannedFault
    from fakemq.sim.simulation import Simulation

TO = " to "
"""Separates the two ends in the name of a target: ``broker-a-0 to namesrv-0``."""


class LinkKind(NamedTuple):
    """A point of `fakemq.net.faults.scopes`, and how a drawn amount becomes its action."""

    point: Point[Any]
    action: Callable[[int], object] = lambda amount: None
    amounts: Callable[[random.Random], int] = lambda draw: draw.randrange(2)
    """The default draws 1 for one direction, 0 for both."""
    one_way: Callable[[int], bool] = lambda amount: False
    when: When = ALWAYS
    longest_ms: int = 60_000


LINK_KINDS: dict[str, LinkKind] = {
    "partition": LinkKind(PARTITION, one_way=bool, longest_ms=150_000),
    "hold": LinkKind(HOLD_LINK, one_way=bool, longest_ms=40_000),
    "latency": LinkKind(
        LATENCY,
        lambda amount: Latency(amount, amount // 3),
        lambda draw: draw.choice((3, 80, 900, 4_000)),
    ),
    "bandwidth": LinkKind(
        BANDWIDTH, lambda amount: amount, lambda draw: draw.choice((200, 4_000, 60_000))
    ),
    "slice": LinkKind(SLICE, lambda amount: amount, lambda draw: draw.choice((7, 100, 1_000))),
    "cut": LinkKind(
        CUT, lambda amount: amount, lambda draw: draw.randint(0, 3_000), lambda amount: True, ONCE
    ),
    "reset": LinkKind(RESET, when=ONCE),
}


def links_of(plan: Plan) -> Sequence[str]:
    """Return every link in use, by its two ends; replication links four times, to be drawn more."""
    cluster = plan.cluster
    servers = [f"namesrv-{number}" for number in range(cluster.namesrvs)]
    masters = [f"{name}{MASTER}" for name in cluster.broker_names]
    slaves = [node for node in cluster.nodes if not node.endswith(MASTER)]
    clients = [producer.name for producer in plan.producers]
    clients += [consumer.name for consumer in plan.consumers]
    of_front = plan.front_clients
    pairs = [(node, server) for node in cluster.nodes for server in servers]
    pairs += [(master, slave) for master in masters for slave in slaves if _pair(master, slave)] * 4
    pairs += [
        (client, node)
        for client in clients
        for node in ((FRONT,) * len(masters) if client in of_front else masters)
    ]
    return [TO.join(pair) for pair in pairs]


def _pair(master: str, slave: str) -> bool:
    return master.removesuffix(MASTER) == slave.rpartition("-")[0]


def break_link(sim: Simulation, fault: PlannedFault) -> None:
    """Activate a fault for the open and future connections of a link."""
    kind, amount = LINK_KINDS[fault.name], fault.amount
    source, _, target = fault.target.partition(TO)
    source = sim.clients[source].name if source in sim.clients else source
    scope = LinkScope(
        node=target, source=source, target=target, one_way=kind.one_way(amount), language=None
    )
    sim.placed[fault] = plan_of(sim.core).place(
        kind.point, kind.action(amount), fault.name, scope, kind.when
    )
