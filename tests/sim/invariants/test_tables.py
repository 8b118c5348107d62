"""Tables of a name server that contradict each other."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fakemq.namesrv.route_tables import BrokerLiveInfo, RouteTables
from fakemq.protocol.bodies.route import BrokerData, QueueData
from fakemq.sim.invariants.tables import disagreements


class Line:
    """Stands for the connection of a broker."""

    outside = False

    def close(self, why: str) -> None:
        raise AssertionError(why)


def tables() -> RouteTables:
    """Return tables with one broker in all five."""
    found = RouteTables()
    data = BrokerData(cluster="c", broker_name="broker-a", broker_addrs={0: "a:1"})
    found.broker_addr_table["broker-a"] = data
    found.cluster_addr_table["c"] = {"broker-a": None}
    found.broker_live_table["a:1"] = BrokerLiveInfo("broker-a", 0, None, Line(), "a:2")
    found.topic_queue_table["orders"] = {"broker-a": QueueData(broker_name="broker-a")}
    found.filter_server_table["a:1"] = []
    return found


def lose_live(found: RouteTables) -> None:
    found.broker_live_table.clear()
    found.filter_server_table.clear()


def lose_addr(found: RouteTables) -> None:
    found.broker_addr_table["broker-a"].broker_addrs.clear()
    lose_live(found)


def lose_cluster(found: RouteTables) -> None:
    found.cluster_addr_table.clear()


def keep_what_is_gone(found: RouteTables) -> None:
    found.cluster_addr_table["c"]["broker-b"] = None
    found.topic_queue_table["orders"]["broker-b"] = QueueData(broker_name="broker-b")
    found.filter_server_table["b:1"] = []
    found.broker_live_table["b:1"] = BrokerLiveInfo("broker-b", 0, None, Line(), "b:2")


def test_consistent_tables_are_accepted() -> None:
    assert not list(disagreements("namesrv-0", RouteTables()))
    assert not list(disagreements("namesrv-0", tables()))


@pytest.mark.parametrize(
    ("spoil", "texts"),
    [
        (lose_live, ["brokerAddrTable has a:1 of broker-a, brokerLiveTable has not"]),
        (lose_addr, ["brokerAddrTable has broker-a without an address"]),
        (lose_cluster, ["broker-a is of cluster c, and clusterAddrTable has it in none"]),
        (
            keep_what_is_gone,
            [
                "clusterAddrTable has broker-b, brokerAddrTable has not",
                "brokerLiveTable has b:1, brokerAddrTable has not",
                "topicQueueTable has orders at broker-b, which brokerAddrTable has not",
            ],
        ),
    ],
)
def test_every_table_is_compared_with_the_others(
    spoil: Callable[[RouteTables], None], texts: list[str]
) -> None:
    found = tables()
    spoil(found)
    expected = [f"at namesrv-0 {text}" for text in texts]
    assert [violation.text for violation in disagreements("namesrv-0", found)] == expected


def test_filter_servers_of_an_absent_broker_are_a_violation() -> None:
    found = tables()
    found.filter_server_table["b:1"] = []
    (violation,) = disagreements("namesrv-0", found)
    assert violation.text == "at namesrv-0 filterServerTable has b:1, brokerLiveTable has not"
