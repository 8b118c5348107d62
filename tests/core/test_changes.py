"""Topics and groups changed by name, under clients that are there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fakemq.client import Client, Message, PullStatus
from fakemq.client.errors import MQBrokerError, MQClientError
from fakemq.cluster import Cluster
from fakemq.core.changes import perm_of
from fakemq.events import GroupChanged
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.route import QueueData
from fakemq.protocol.codes import ResponseCode

TOPIC, GROUP = "orders", "billing"


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with Cluster(masters=2, clock="frozen", topics={TOPIC: 2}) as cluster:
        yield cluster


@pytest.fixture
def mq(running: Cluster) -> Cluster:
    running.reset()
    return running


@pytest.fixture
def client(mq: Cluster) -> Iterator[Client]:
    with Client(mq.namesrv_addr, consumer_group=GROUP) as client:
        yield client


def queue(queue_id: int = 0) -> MessageQueue:
    return MessageQueue(topic=TOPIC, broker_name="broker-a", queue_id=queue_id)


def routed(client: Client) -> list[tuple[int, int, int]]:
    """What the route says of each broker: read queues, write queues, permission."""
    route = client.update_route(TOPIC)
    assert route is not None

    def values(data: QueueData) -> tuple[int, int, int]:
        return data.read_queue_nums, data.write_queue_nums, data.perm

    return [values(data) for data in route.data.queue_datas]


def test_queue_counts_change_in_the_routes_of_clients(mq: Cluster, client: Client) -> None:
    mq.topic(TOPIC).set_queues(4)
    assert routed(client) == [(4, 4, 6)] * 2
    client.send(Message(TOPIC, "in the last"), queue=queue(3))
    mq.topic(TOPIC).set_queues(4, write=2)
    assert routed(client) == [(4, 2, 6)] * 2
    assert client.pull(queue(3), 0).messages[0].body == b"in the last"
    mq.topic(TOPIC).set_queues(1)
    with pytest.raises(MQBrokerError, match=r"queueId\[3\] is illegal"):
        client.pull(queue(3), 0)
    mq.topic(TOPIC).set_queues(4)
    assert client.pull(queue(3), 0).messages[0].body == b"in the last", "it was there all the time"


def test_permissions_change_in_routes(mq: Cluster, client: Client) -> None:
    mq.topic(TOPIC).set_perm("W")
    assert routed(client) == [(2, 2, 2)] * 2
    client.send(Message(TOPIC, "x"), queue=queue())
    with pytest.raises(MQBrokerError, match=r"the topic\[orders\] pulling message is forbidden"):
        client.pull(queue(), 0)
    mq.topic(TOPIC).set_perm("R")
    assert client.pull(queue(), 0).status is PullStatus.FOUND
    client.update_route(TOPIC)
    with pytest.raises(MQClientError):
        client.send(Message(TOPIC, "x"))
    mq.topic(TOPIC).set_perm("RW")
    assert routed(client) == [(2, 2, 6)] * 2


@pytest.mark.parametrize(("letters", "bits"), [("RW", 6), ("WR", 6), ("R", 4), ("W", 2), ("", 0)])
def test_permissions_are_given_as_letters(letters: str, bits: int) -> None:
    assert perm_of(letters) == bits


def test_invalid_change_is_refused(mq: Cluster) -> None:
    with pytest.raises(ValueError, match="perm 'RX': expected RW, R, W or nothing"):
        mq.topic(TOPIC).set_perm("RX")
    with pytest.raises(LookupError, match="no running master has a topic nowhere"):
        mq.topic("nowhere").set_queues(1)
    assert repr(mq.topic(TOPIC)) == "<topic orders>"


@pytest.mark.parametrize("queues", [(-3,), (0,), (65_537,), (2, -1), (True,), ("4",), (2.0,)])
def test_invalid_queue_numbers_are_refused(mq: Cluster, queues: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected a whole number from [01] to 65536") as error:
        mq.topic(TOPIC).set_queues(*queues)
    assert f"_queue_nums={queues[-1]!r}:" in str(error.value)
    assert len(mq.queues(TOPIC)) == 4


def test_system_topics_are_refused(mq: Cluster) -> None:
    topic = mq.topic("TBW102")
    for change in (topic.delete, lambda: topic.set_queues(1), lambda: topic.set_perm("R")):
        with pytest.raises(ValueError, match=r"The topic\[TBW102\] is conflict with system topic"):
            change()
    assert "TBW102" in mq.topics()


def test_topic_is_drained(mq: Cluster, client: Client) -> None:
    client.send(Message(TOPIC, "last"), queue=queue())
    mq.topic(TOPIC).set_queues(2, write=0)
    assert set(routed(client)) == {(2, 0, 6)}
    assert client.pull(queue(), 0).messages[0].body == b"last"


def test_group_is_changed_only_when_a_master_runs(mq: Cluster) -> None:
    for name in ("broker-a", "broker-b"):
        mq.broker(name).kill()
    with pytest.raises(LookupError, match="no running master to change group billing at"):
        mq.group(GROUP).suspend()
    for name in ("broker-a", "broker-b"):
        mq.broker(name).restart()


def test_deleting_an_unknown_topic_succeeds(mq: Cluster) -> None:
    mq.topic("nowhere").delete()


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ({"retry_max_times": "3"}, "retry_max_times '3': Expected `int`, got `str`"),
        ({"retry_queue_nums": 1 << 31}, "2147483648: Expected `int` <= 2147483647"),
        ({"consume_enable": 1}, "consume_enable 1: Expected `bool`, got `int`"),
        ({"broker_id": None}, "broker_id None: Expected `int`, got `null`"),
    ],
)
def test_invalid_group_settings_are_refused(
    mq: Cluster, setting: dict[str, Any], text: str
) -> None:
    with pytest.raises(ValueError, match=text):
        mq.group("new").set(**setting)
    brokers = mq.inspect(lambda core: list(core.brokers.values()))
    assert all("new" not in broker.groups.snapshot() for broker in brokers)


def test_deleted_topic_is_gone_everywhere_and_can_be_created_again(
    mq: Cluster, client: Client
) -> None:
    mq.seed(TOPIC, [b"x", b"y"])
    for _ in range(2):
        mq.topic(TOPIC).delete()
    assert TOPIC not in mq.topics()
    assert client.update_route(TOPIC) is None
    mq.create_topic(TOPIC, 1)
    assert mq.messages(TOPIC) == []
    assert client.pull(queue(), 0).status is PullStatus.NO_NEW_MSG


def test_only_running_masters_are_changed(mq: Cluster) -> None:
    mq.broker("broker-b").kill()
    mq.topic(TOPIC).set_queues(3)
    mq.broker("broker-b").restart()
    found = [(one.broker, one.queue_id) for one in mq.queues(TOPIC)]
    assert len([broker for broker, _ in found if broker == "broker-a"]) == 3
    assert len([broker for broker, _ in found if broker == "broker-b"]) == 2


def test_group_is_suspended_and_resumed(mq: Cluster, client: Client) -> None:
    mq.seed(TOPIC, [b"x"])
    mq.group(GROUP).suspend()
    with pytest.raises(MQBrokerError, match="subscription group no permission, billing") as error:
        client.pull(queue(), 0)
    assert error.value.code == ResponseCode.NO_PERMISSION
    mq.group(GROUP).resume()
    assert client.pull(queue(), 0).status is PullStatus.FOUND


def test_group_settings_are_changed_one_by_one(mq: Cluster) -> None:
    mq.group(GROUP).set(retry_max_times=3)
    mq.group(GROUP).set(consume_broadcast_enable=False)
    for broker in mq.inspect(lambda core: list(core.brokers.values())):
        config = broker.groups.snapshot()[GROUP]
        assert (config.retry_max_times, config.consume_broadcast_enable) == (3, False)
        assert config.consume_enable
    with pytest.raises(TypeError, match="retries"):
        mq.group(GROUP).set(retries=3)  # type: ignore[call-arg]


def test_group_can_consume_in_order_only_with_a_later_reference(mq: Cluster) -> None:
    with pytest.raises(
        ValueError,
        match=r"groups of broker-a-0 have no consume_message_orderly: use reference='5\.5\.0'",
    ):
        mq.group("new").set(consume_message_orderly=True)
    with Cluster(reference="5.5.0") as later:
        later.group("new").set(consume_message_orderly=True)
        (broker,) = later.inspect(lambda core: list(core.brokers.values()))
        assert broker.groups.snapshot()["new"].consume_message_orderly is True


@pytest.mark.parametrize("offsets", [False, True])
def test_group_is_deleted_with_or_without_its_offsets(mq: Cluster, offsets: bool) -> None:
    mq.group(GROUP).suspend()
    mq.inspect(lambda core: core.broker("broker-a").offsets.commit(GROUP, TOPIC, 0, 5))
    mq.group(GROUP).delete(offsets=offsets)
    assert mq.group(GROUP).offsets(TOPIC) == ({} if offsets else {("broker-a", 0): 5})
    hows = [event.how for event in mq.journal.find(GroupChanged, node="broker-a-0", group=GROUP)]
    assert hows == ["created", "deleted"]


@pytest.mark.parametrize("name", ["", "a b", "x" * 256])
def test_group_that_cannot_be_is_refused(mq: Cluster, name: str) -> None:
    with pytest.raises(ValueError, match="The specified group"):
        mq.group(name).set(retry_max_times=1)
