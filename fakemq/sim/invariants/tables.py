"""The five tables of a name server agree about every broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fakemq.sim.history import Violation

if TYPE_CHECKING:
    from fakemq.namesrv.route_tables import RouteTables

NAME = "the five tables agree"


def disagreements(
    name_server: str, tables: RouteTables, *, elects: bool = False
) -> Iterator[Violation]:
    """Yield what one table of ``name_server`` contains and another does not.

    ``elects`` says that controllers elect masters. One that was replaced stays among the living
    brokers until it registers again, or is silent for too long. So it does in Java's.
    """
    known = tables.broker_addr_table
    addrs = {addr: name for name, data in known.items() for addr in data.broker_addrs.values()}
    live = set(tables.broker_live_table)
    in_clusters = {
        name: cluster for cluster, names in tables.cluster_addr_table.items() for name in names
    }
    for name, data in known.items():
        if not data.broker_addrs:
            yield _of(name_server, f"brokerAddrTable has {name} without an address", name)
        if in_clusters.get(name) != data.cluster:
            found = in_clusters.get(name, "none")
            text = f"{name} is of cluster {data.cluster}, and clusterAddrTable has it in {found}"
            yield _of(name_server, text, name)
    for name in sorted(in_clusters.keys() - known.keys()):
        yield _of(name_server, f"clusterAddrTable has {name}, brokerAddrTable has not", name)
    for addr in sorted(live - addrs.keys()) if not elects else ():
        yield _of(name_server, f"brokerLiveTable has {addr}, brokerAddrTable has not", addr)
    for addr in sorted(addrs.keys() - live):
        text = f"brokerAddrTable has {addr} of {addrs[addr]}, brokerLiveTable has not"
        yield _of(name_server, text, addr)
    for addr in sorted(tables.filter_server_table.keys() - live):
        yield _of(name_server, f"filterServerTable has {addr}, brokerLiveTable has not", addr)
    for topic, queues in tables.topic_queue_table.items():
        for name in sorted(queues.keys() - known.keys()):
            text = f"topicQueueTable has {topic} at {name}, which brokerAddrTable has not"
            yield _of(name_server, text, name)


def _of(name_server: str, text: str, word: str) -> Violation:
    return Violation(NAME, f"at {name_server} {text}", (word,))
