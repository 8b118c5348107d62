"""What is read of a cluster by batch: which queues, from where to where, in which parts."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pyspark")

from fakemq import Cluster
from fakemq.client import Client, Message
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.group import SubscriptionGroupWrapper
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.codes import RequestCode
from fakemq.spark.options import Options
from fakemq.spark.reading.batch_reader import RocketMQReader
from fakemq.spark.reading.bound_offsets import BrokerAwayError, DataLossError, DataLossWarning
from fakemq.spark.reading.options import read_options
from fakemq.spark.reading.queue_bounds import find_bounds, first_at_or_after
from fakemq.spark.reading.queue_reading import ReadError
from fakemq.spark.reading.topics import NameServerError, UnknownTopicError

COUNT = 20
"""Messages in each of the four queues of ``orders``."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two masters; ``orders`` with two queues on each, a second between two messages of one."""
    with Cluster(
        masters=2,
        clock="frozen",
        start_at="2026-01-01T00:00:00Z",
        topics={"orders": 2, "Other-1": 1, "Other-2": 1},
        config={"enablePropertyFilter": "true"},
    ) as cluster:
        with Client(cluster.namesrv_addr) as client:
            for number in range(COUNT):
                for queue in client.publish_queues("orders"):
                    message = Message(
                        "orders",
                        f"m{number}",
                        tags="even" if number % 2 == 0 else "odd",
                        properties={"number": str(number)},
                    )
                    client.send(message, queue=queue)
                cluster.clock.advance("1s")
        yield cluster


def reader(cluster: Cluster, **given: Any) -> RocketMQReader:
    least = {"nameServer": cluster.namesrv_addr, "fetchOffset.numRetries": "0"}
    if not given.keys() & {"assign", "subscribePattern"}:
        least["subscribe"] = "orders"
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in given.items()
    }
    return RocketMQReader(read_options(Options("rocketmq", least | texts), streaming=False))


def rows(cluster: Cluster, **given: Any) -> list[dict[str, Any]]:
    made = reader(cluster, **given)
    partitions = made.partitions()
    made = pickle.loads(pickle.dumps(made))  # as it goes to a worker
    return [row for part in partitions for batch in made.read(part) for row in batch.to_pylist()]


def places(cluster: Cluster, **given: Any) -> list[tuple[str, str, int, int]]:
    return [
        (row["topic"], row["broker"], row["queueId"], row["offset"])
        for row in rows(cluster, **given)
    ]


EVERYTHING = [
    ("orders", broker, queue, offset)
    for broker in ("broker-a", "broker-b")
    for queue in (0, 1)
    for offset in range(COUNT)
]


def test_every_queue_of_a_topic_is_a_partition(cluster: Cluster) -> None:
    assert places(cluster) == EVERYTHING
    assert len(reader(cluster).partitions()) == 4
    values = {row["value"] for row in rows(cluster)}
    assert values == {f"m{number}".encode() for number in range(COUNT)}


def test_partitions_are_split_on_demand(cluster: Cluster) -> None:
    assert len(reader(cluster, minPartitions="10").partitions()) >= 10
    assert places(cluster, minPartitions="10", pullBatchSize="3") == EVERYTHING
    assert len(reader(cluster, maxRecordsPerPartition="5").partitions()) == 16


def test_queues_are_selected_by_topic_pattern_or_list(cluster: Cluster) -> None:
    assert places(cluster, subscribePattern="ord.*") == EVERYTHING
    assert places(cluster, subscribePattern="rders") == []
    assert places(cluster, subscribePattern=".*") == EVERYTHING, "and nothing of RocketMQ's own"
    assert places(cluster, assign={"orders": {"broker-b": [1]}}) == EVERYTHING[-COUNT:]


def test_offsets_limit_the_range(cluster: Cluster) -> None:
    start = {"orders": {"broker-a": {"0": 18, "1": -2}, "broker-b": {"0": 20, "1": 5}}}
    end = {"orders": {"broker-a": {"0": 19, "1": 1}, "broker-b": {"0": -1, "1": -1}}}
    assert places(cluster, startingOffsets=start, endingOffsets=end) == [
        ("orders", "broker-a", 0, 18),
        ("orders", "broker-a", 1, 0),
        *EVERYTHING[-15:],
    ]


def test_times_limit_the_range(cluster: Cluster) -> None:
    first_ms = 1_767_225_600_000
    between = {"startingTimestamp": str(first_ms + 4_001), "endingTimestamp": str(first_ms + 7_000)}
    offsets = [place[3] for place in places(cluster, **between)]
    assert offsets == [5, 6] * 4
    each = {"orders": {"broker-a": {"0": first_ms + 19_000}}}
    queue = {"orders": {"broker-a": [0]}}
    assert places(cluster, assign=queue, startingOffsetsByTimestamp=each) == [
        ("orders", "broker-a", 0, 19)
    ]
    with pytest.raises(ConfigError, match="Strategy to latest"):
        rows(cluster, startingTimestamp=str(first_ms + 19_001))
    late = {"startingTimestamp": str(first_ms + 19_001)}
    assert rows(cluster, startingOffsetsByTimestampStrategy="latest", **late) == []
    assert places(cluster, endingTimestamp=str(first_ms + 60_000)) == EVERYTHING


def test_time_is_found_exactly_whatever_the_broker_returns(cluster: Cluster) -> None:
    queue = MessageQueue(topic="orders", broker_name="broker-a", queue_id=0)
    first_ms = 1_767_225_600_000
    with Client(cluster.namesrv_addr) as client:
        client.update_route("orders")
        bounds = find_bounds(client, [queue]).bounds[queue]
        for time_ms in range(first_ms - 1_500, first_ms + (COUNT + 2) * 1_000, 250):
            expected = max(0, min(COUNT, -(-(time_ms - first_ms) // 1_000)))
            assert first_at_or_after(client, queue, bounds, time_ms) == expected


def test_time_shared_by_many_messages_is_found_at_the_first() -> None:
    with (
        Cluster(clock="frozen", topics={"orders": 1}) as cluster,
        Client(cluster.namesrv_addr) as client,
    ):
        for _ in range(3):
            for _ in range(9):
                client.send(Message("orders", "m"))
            cluster.clock.advance("1s")
        now_ms = cluster.clock.now_ms()
        queue = client.publish_queues("orders")[0]
        bounds = find_bounds(client, [queue]).bounds[queue]
        found = [
            first_at_or_after(client, queue, bounds, now_ms - back_ms)
            for back_ms in (3_000, 2_001, 2_000, 1_999, 1_000, 999)
        ]
    assert found == [0, 9, 9, 18, 18, 27]


def test_only_the_configured_group_pulls() -> None:
    # A broker with autoCreateSubscriptionGroup=false knows no other.
    with Cluster(topics={"orders": 1}) as cluster, Client(cluster.namesrv_addr) as client:
        client.send(Message("orders", "m"))
        assert rows(cluster, group="mine", startingTimestamp="1") != []
        command = client.instance.command(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
        body = client.invoke(cluster.broker("broker-a-0").addr, command).body
    groups = SubscriptionGroupWrapper.decode(body).subscription_group_table
    assert "mine" in groups
    assert "DEFAULT_CONSUMER" not in groups


def test_broker_filters_by_tags_and_by_sql(cluster: Cluster) -> None:
    assert [place[3] for place in places(cluster, tags="odd")] == list(range(1, COUNT, 2)) * 4
    assert places(cluster, tags="odd || even") == EVERYTHING
    found = rows(cluster, sql="number BETWEEN 3 AND 4", includeProperties="true")
    assert [dict(row["properties"])["number"] for row in found] == ["3", "4"] * 4


@pytest.mark.parametrize(
    ("given", "error", "problem"),
    [
        ({"subscribe": "order"}, UnknownTopicError, "topic order has no route"),
        ({"assign": {"orders": {"broker-c": [0]}}}, UnknownTopicError, "broker broker-c, queue 0"),
        ({"sql": "number >"}, ConfigError, "option sql is 'number >', and broker broker-"),
        ({"nameServer": "127.0.0.1:1"}, NameServerError, "of 127.0.0.1:1: connect to"),
        ({"startingOffsets": {"orders": {"broker-a": {"0": 0}}}}, ConfigError, "does not name"),
        (
            {"startingOffsets": {"order": {"b": {"0": 0}}}},
            ConfigError,
            "names queues that are not read",
        ),
    ],
)
def test_unreadable_topics_are_refused(
    cluster: Cluster, given: dict[str, Any], error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        rows(cluster, **given)


def test_missing_offsets_are_data_loss(cluster: Cluster) -> None:
    queue = {"orders": {"broker-a": [0]}}
    end = {"orders": {"broker-a": {"0": COUNT + 5}}}
    with pytest.raises(DataLossError, match=r"endingOffsets says 25, .* are 0 to 19"):
        rows(cluster, assign=queue, endingOffsets=end)
    with pytest.warns(DataLossWarning, match="taken as 20"):
        found = rows(cluster, assign=queue, endingOffsets=end, failOnDataLoss="false")
    assert len(found) == COUNT
    start = {"orders": {"broker-a": {"0": 9}}}
    end = {"orders": {"broker-a": {"0": 8}}}
    with pytest.raises(ConfigError, match="begins at 9, after endingOffsets at 8"):
        rows(cluster, assign=queue, startingOffsets=start, endingOffsets=end)


def test_read_only_queues_are_read_and_unreadable_ones_are_not() -> None:
    with (
        Cluster(topics={"orders": 4, "secret": 1}) as cluster,
        Client(cluster.namesrv_addr) as client,
    ):
        for queue in client.publish_queues("orders"):
            client.send(Message("orders", "m"), queue=queue)
        cluster.topic("orders").set_queues(4, 2)
        cluster.topic("secret").set_perm("W")
        assert len(rows(cluster)) == 4
        with pytest.raises(UnknownTopicError, match="readable"):
            rows(cluster, subscribe="secret")


def test_absent_master_is_replaced_by_its_slave() -> None:
    with Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 2}) as cluster:
        with Client(cluster.namesrv_addr) as client:
            for number in range(100):
                client.send(Message("orders", f"m{number}"))
        made = reader(cluster, pullBatchSize="5")
        first, second = made.partitions()
        batches = made.read(first)
        cluster.broker("broker-a-0").kill()
        found = [row for batch in batches for row in batch.to_pylist()]
        found += [row for batch in made.read(second) for row in batch.to_pylist()]
        assert sorted(row["value"] for row in found) == sorted(
            f"m{number}".encode() for number in range(100)
        )
        assert len(rows(cluster)) == 100, "its slave knows the offsets, too"
        assert len(rows(cluster, startingTimestamp="1")) == 100, "and the times"
        cluster.broker("broker-a-1").kill()
        with pytest.raises((BrokerAwayError, UnknownTopicError)):
            rows(cluster)
        with pytest.raises(ReadError, match="after 0 retries"):
            list(made.read(first))


def test_thousand_queues_are_planned_by_few_requests() -> None:
    with Cluster(topics={"orders": 1000}) as cluster:
        with Client(cluster.namesrv_addr) as client:
            client.send(Message("orders", "m"))
        before = len(cluster.journal.entries())
        partitions = reader(cluster).partitions()
        assert len(partitions) == 1
        assert len(cluster.journal.entries()) - before < 50
