"""Bodies whose JSON is remembered are written as if it were not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.protocol import fastjson
from fakemq.protocol.bodies import body as bodies
from fakemq.protocol.bodies.heartbeat import (
    ConsumerData,
    GetConsumerListByGroupResponseBody,
    HeartbeatData,
    ProducerData,
    SubscriptionData,
)
from fakemq.protocol.bodies.route import BrokerData, QueueData, TopicRouteData

names = st.none() | st.text(max_size=3)
subscriptions = st.builds(
    SubscriptionData,
    topic=names,
    sub_string=names,
    tags_set=st.lists(st.text(max_size=2), max_size=2),
    code_set=st.lists(st.integers(-3, 3), max_size=2),
    sub_version=st.integers(0, 3),
)
consumers = st.builds(
    ConsumerData, group_name=names, subscription_data_set=st.lists(subscriptions, max_size=2)
)
heartbeats = st.builds(
    HeartbeatData,
    client_id=names,
    producer_data_set=st.lists(st.builds(ProducerData, group_name=names), max_size=2),
    consumer_data_set=st.lists(consumers, max_size=2),
)
routes = st.builds(
    TopicRouteData,
    order_topic_conf=names,
    queue_datas=st.lists(st.builds(QueueData, broker_name=names), max_size=2),
    broker_datas=st.lists(
        st.builds(BrokerData, broker_addrs=st.dictionaries(st.integers(0, 3), st.text(max_size=3))),
        max_size=2,
    ),
    filter_server_table=st.dictionaries(
        st.text(max_size=2), st.lists(st.text(max_size=2), max_size=2), max_size=2
    ),
)
members = st.builds(
    GetConsumerListByGroupResponseBody,
    consumer_id_list=st.none() | st.lists(st.text(max_size=3), max_size=3),
)


@given(st.lists(heartbeats | members | routes, max_size=5))
def test_remembered_body_is_written_as_a_new_one(found: list[bodies.Body]) -> None:
    for body in found * 2:
        assert body.encode() == fastjson.encode(body)


@given(st.lists(routes, max_size=5))
def test_remembered_route_is_written_in_either_dialect(found: list[TopicRouteData]) -> None:
    for route in found * 2:
        standard = fastjson.dumps_standard(route).encode("ascii")
        assert route.encode(standard_json=True) == standard
        assert route.encode() == fastjson.encode(route)


def test_changed_body_is_written_anew() -> None:
    heartbeat = HeartbeatData(client_id="a")
    before = heartbeat.encode()
    heartbeat.client_id = "b"
    assert heartbeat.encode() != before


def test_few_small_bodies_are_remembered() -> None:
    for number in range(1_000):
        HeartbeatData(client_id=f"client-{number}").encode()
    assert len(bodies._encoded) <= 256
    before = len(bodies._encoded)
    HeartbeatData(client_id="a" * 5_000).encode()
    assert len(bodies._encoded) == before
