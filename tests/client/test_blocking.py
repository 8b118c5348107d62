"""The blocking face, end to end against the cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.client import Client, Message, PullStatus
from fakemq.client.errors import MQBrokerError, MQClientError
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand, SerializeType


@pytest.fixture(scope="module")
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(masters=2, topics={"orders": 2}) as mq:
        yield mq


@pytest.fixture
def client(mq: fakemq.Cluster) -> Iterator[Client]:
    mq.reset()
    with Client(mq.namesrv_addr) as client:
        yield client


@pytest.mark.parametrize("serialize_type", SerializeType)
def test_sent_message_is_pulled(mq: fakemq.Cluster, serialize_type: SerializeType) -> None:
    mq.reset()
    with Client(mq.namesrv_addr, serialize_type=serialize_type) as client:
        queue = client.subscribe_queues("orders")[0]
        first = client.send(Message("orders", "one", tags="a", keys="k"), queue=queue)
        second = client.send_batch(
            [Message("orders", "two"), Message("orders", "three")], queue=queue
        )
        assert (first.queue_offset, second.queue_offset) == (0, 1)
        found = client.pull(queue, 0)
        assert [one.body for one in found.messages] == [b"one", b"two", b"three"]
        assert (found.messages[0].tags, found.messages[0].keys) == ("a", "k")
        assert found.messages[0].msg_id == first.msg_id
        assert ",".join(one.msg_id for one in found.messages[1:]) == second.msg_id
        assert client.pull(queue, 0, expression="a").messages[0].body == b"one"
        assert client.pull(queue, 3).status is PullStatus.NO_NEW_MSG
        assert (client.min_offset(queue), client.max_offset(queue)) == (0, 3)
        assert client.search_offset(queue, 0) == 0
        assert client.earliest_store_time_ms(queue) == found.messages[0].store_timestamp_ms
        assert client.view_message(first.offset_msg_id).body == b"one"


def test_sends_take_queues_in_turn(mq: fakemq.Cluster, client: Client) -> None:
    for _ in range(4):
        client.send(Message("orders", "x"))
    client.send_oneway(Message("orders", "x"))
    assert len({client.send(Message("orders", "x")).queue for _ in range(4)}) == 4
    assert mq.wait_for(lambda: len(mq.messages("orders")) == 9)


def test_killed_broker_is_avoided(client: Client, mq: fakemq.Cluster) -> None:
    mq.broker("broker-a").kill()
    try:
        assert {client.send(Message("orders", "x")).queue.broker_name for _ in range(4)} == {
            "broker-b"
        }
    finally:
        mq.broker("broker-a").restart()


def test_offsets_locks_and_members_are_read_back(mq: fakemq.Cluster, client: Client) -> None:
    queue = client.subscribe_queues("orders")[0]
    client.update_offset(queue, 5, oneway=False)
    assert client.query_offset(queue) == 5
    with Client(mq.namesrv_addr) as other:
        assert client.lock([queue]) == {queue}
        assert other.lock([queue]) == set()
        client.unlock([queue])
        assert other.lock([queue]) == {queue}


def test_members_are_notified_of_each_other(mq: fakemq.Cluster, client: Client) -> None:
    notified: list[str] = []

    def notify(addr: str, request: RemotingCommand) -> None:
        notified.append(request.ext_fields["consumerGroup"])

    client.instance.handlers[RequestCode.NOTIFY_CONSUMER_IDS_CHANGED] = notify
    client.subscribe("orders")
    assert len(client.heartbeat()) == 2
    assert notified, "code 40 comes before the answer to the heartbeat that caused it"
    notified.clear()
    with Client(mq.namesrv_addr) as other:
        other.subscribe("orders")
        other.heartbeat()
        ids = {client.instance.client_id, other.instance.client_id}
        assert set(client.consumer_ids("orders", "DEFAULT_CONSUMER")) == ids
        client.poll(timeout_ms=5_000)
    assert notified[:1] == ["DEFAULT_CONSUMER"]


def test_topics_and_groups_are_created(mq: fakemq.Cluster, client: Client) -> None:
    assert sorted(client.create_topic("new", 3)) == sorted(one.addr for one in mq.brokers)
    assert len(client.publish_queues("new")) == 6
    group = SubscriptionGroupConfig(group_name="g")
    assert len(client.create_group(group, cluster="DefaultCluster")) == 2
    assert list(client.cluster_info().cluster_addr_table) == ["DefaultCluster"]


def test_errors_carry_the_brokers_code_and_remark(mq: fakemq.Cluster, client: Client) -> None:
    queue = client.subscribe_queues("orders")[0]
    with pytest.raises(MQBrokerError, match="SYSTEM_ERROR"):
        client.pull(type(queue)(topic="orders", broker_name="broker-a", queue_id=99), 0)
    with pytest.raises(MQClientError, match="Can not find Message Queue"):
        client.subscribe_queues("nowhere")
    response = client.invoke(mq.brokers[0].addr, RemotingCommand(9999))
    assert (response.code, response.remark) == (3, " request type 9999 not supported")
    assert repr(client).startswith("<client 127.0.0.1@")
