"""From a topic's route to the queues that are sent to and pulled from."""

from __future__ import annotations

import pytest

from fakemq.client.routes import QUEUES_MAX, BrokerAddr, RouteTable, masters
from fakemq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData
from fakemq.protocol.errors import NumberFormatError
from tests.support.scripted_operation import queue, route


def test_route_has_queues_to_send_to_and_to_pull_from() -> None:
    table = RouteTable()
    known = table.put("orders", route("b", "a", queues=1), 5)
    assert known.publish_queues == known.subscribe_queues == (queue("a"), queue("b"))
    assert table.routes["orders"].fetched_at_ms == 5
    assert table.master_addr("b") == "b:10911"
    assert table.master_addr("c") is None


def test_read_only_broker_is_pulled_from_only() -> None:
    known = RouteTable().put("orders", route("a", queues=1, perm=4), 0)
    assert known.publish_queues == ()
    assert known.subscribe_queues == (queue("a"),)


def test_broker_without_master_is_not_sent_to() -> None:
    data = TopicRouteData(
        queue_datas=[QueueData(broker_name="a", read_queue_nums=1, write_queue_nums=1, perm=6)],
        broker_datas=[BrokerData(broker_name="a", broker_addrs={1: "a:2"})],
    )
    table = RouteTable()
    assert table.put("orders", data, 0).publish_queues == ()
    assert table.any_addr("a") == BrokerAddr("a:2", True)


def test_order_topic_is_sent_to_the_queues_of_its_config() -> None:
    data = TopicRouteData(order_topic_conf="a:2;b:1", broker_datas=[], queue_datas=[])
    known = RouteTable().put("orders", data, 0)
    assert known.publish_queues == (queue("a", 0), queue("a", 1), queue("b", 0))


def test_suggested_broker_is_taken_or_the_next_slave_or_any() -> None:
    data = TopicRouteData(
        broker_datas=[BrokerData(broker_name="a", broker_addrs={0: "a:0", 2: "a:2"})]
    )
    table = RouteTable()
    table.put("orders", data, 0)
    assert table.any_addr("a", 2) == BrokerAddr("a:2", True)
    assert table.any_addr("a", 1) == BrokerAddr("a:2", True)
    assert table.any_addr("a", 7) == BrokerAddr("a:0", False)
    assert table.any_addr("b", 0) is None


def test_address_that_no_route_names_any_more_is_forgotten() -> None:
    table = RouteTable()
    table.put("orders", route("a", "b"), 0)
    table.put("payments", route("b"), 0)
    assert table.drop_offline() == {"a:10911", "b:10911"}
    assert list(table.brokers) == ["a", "b"]
    table.put("orders", route("c"), 0)
    assert table.master_addr("a") == "a:10911"
    assert table.drop_offline() == {"b:10911", "c:10911"}
    assert list(table.brokers) == ["b", "c"]


def test_slave_that_is_gone_is_forgotten_with_the_routes_of_others_left_as_they_are() -> None:
    table = RouteTable()
    table.put("orders", route("a"), 0)
    table.brokers["a"][1] = "slave:10911"
    table.drop_offline()
    assert table.brokers == {"a": {0: "a:10911"}}
    assert table.routes["orders"].data.broker_datas[0].broker_addrs == {0: "a:10911"}


def test_masters_are_sorted_by_broker() -> None:
    brokers = route("b", "a").broker_datas
    brokers.append(BrokerData(broker_name="c", broker_addrs={1: "c:2"}))
    assert masters(brokers) == ["a:10911", "b:10911"]


def test_invalid_route_costs_little() -> None:
    most = 2**31 - 1
    data = TopicRouteData(
        queue_datas=[
            QueueData(broker_name="a", read_queue_nums=most, write_queue_nums=most, perm=6),
            QueueData(read_queue_nums=1, perm=4),
        ],
        broker_datas=[BrokerData(broker_name="a", broker_addrs={0: "a:1"}), BrokerData()],
    )
    known = RouteTable().put("orders", data, 0)
    assert len(known.publish_queues) == QUEUES_MAX
    assert len(known.subscribe_queues) == QUEUES_MAX + 1
    order = TopicRouteData(order_topic_conf=f"a:{most}", broker_datas=[], queue_datas=[])
    assert len(RouteTable().put("orders", order, 0).publish_queues) == QUEUES_MAX
    order.order_topic_conf = "a"
    with pytest.raises(NumberFormatError):
        RouteTable().put("orders", order, 0)
