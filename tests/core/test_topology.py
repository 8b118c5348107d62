"""The connections of a cluster, by the names of their ends."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

import fakemq
from fakemq.core.cluster import ClusterCore
from fakemq.core.overview import LinkSum, links

MANY = 100


def test_clients_of_the_front_are_read_once_for_all_connections() -> None:
    def look(core: ClusterCore) -> tuple[list[LinkSum], int]:
        assert core.proxy is not None
        clients = core.proxy.clients
        ends = [f"10.0.0.9:{number}" for number in range(MANY)]
        for number, addr in enumerate(ends):
            peer: Any = SimpleNamespace(remote_addr=addr, outside=True, closed=False)
            clients.register("consumer", "billing", f"client-{number:03}", "PYTHON", peer)
        opened: Any = [
            SimpleNamespace(node=core.proxy.name, remote_node=None, remote_addr=addr, session=None)
            for addr in [*ends, "10.0.0.9:unknown"]
        ]
        snapshot = Mock(wraps=clients.snapshot)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clients, "snapshot", snapshot)
            patch.setattr(type(core.network.links), "__iter__", lambda _: iter(opened))
            return links(core)[0], snapshot.call_count

    with fakemq.Cluster(grpc=True) as mq:
        seen, reads = mq.inspect(look)
    assert [(one.b, one.count, one.client) for one in seen] == [
        ("10.0.0.9:unknown", 1, True),
        *((f"client-{number:03}", 1, True) for number in range(MANY)),
    ]
    assert reads == 1
