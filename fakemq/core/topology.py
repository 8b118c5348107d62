"""The connections of a cluster: which ends they join, and which a fault affects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from fakemq.net.faults.links import LinkPlan, node_names
from fakemq.net.session import Session

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore
    from fakemq.net.faults.lane import OpenLink

MOST = 500
"""How many pairs are returned at most."""


class LinkSum(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The connections between two ends: nodes by their names, clients by client id or address."""

    a: str
    b: str
    count: int
    faulty: bool
    """Whether a fault of links affects one of them."""
    client: bool
    """Whether ``b`` is a client, inside the cluster or outside."""


def links(core: ClusterCore, *, most: int = MOST) -> list[LinkSum]:
    """Return the pairs of ends that are connected now, by name."""
    nodes = node_names(core)
    plan = core.network.links.faults
    of_front = _clients_of_front(core)
    counts: dict[tuple[str, str], int] = {}
    faulty: set[tuple[str, str]] = set()
    for link in core.network.links:
        # A connection inside the cluster is kept by the end that has opened it.
        near, far = link.node, link.remote_node
        if near in nodes and far in nodes:
            pairs = [(min(near, far), max(near, far))]
        elif far in nodes:
            pairs = [(far, near)]
        else:
            pairs = [(near, name) for name in _client_names(core, link, of_front)]
        for pair in pairs:
            counts[pair] = counts.get(pair, 0) + 1
            if isinstance(plan, LinkPlan) and plan.affects(link):
                faulty.add(pair)
    return [
        LinkSum(
            a=pair[0],
            b=pair[1],
            count=count,
            faulty=pair in faulty,
            client=pair[1] not in nodes,
        )
        for pair, count in sorted(counts.items())[:most]
    ]


def _client_names(core: ClusterCore, link: OpenLink, of_front: Mapping[str, set[str]]) -> list[str]:
    broker, session = core.brokers.get(link.node), link.session
    ids: set[str] = set()
    if broker is not None and isinstance(session, Session):
        ids = broker.client_ids(session)
    elif core.proxy is not None and link.node == core.proxy.name:
        ids = of_front.get(link.remote_addr, ids)
    return sorted(ids) or [link.remote_node or link.remote_addr]


def _clients_of_front(core: ClusterCore) -> Mapping[str, set[str]]:
    """Return the ids of the gRPC clients at each address, read once for all connections."""
    found: dict[str, set[str]] = defaultdict(set)
    if core.proxy is not None:
        for members in core.proxy.clients.snapshot().values():
            for client in members:
                found[client.connection.remote_addr].add(client.client_id)
    return found
