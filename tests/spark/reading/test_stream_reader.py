"""A stream continues from its offsets: new data, lost data, limits of a batch."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from fakemq import Cluster
from fakemq.client import Client, Message
from fakemq.errors import ConfigError
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.options import Options
from fakemq.spark.reading import stream_reader
from fakemq.spark.reading.bound_offsets import DataLossError, DataLossWarning
from fakemq.spark.reading.options import read_options
from fakemq.spark.reading.stream_reader import RocketMQStreamReader
from fakemq.spark.reading.topics import NameServerError, UnknownTopicError, brokers_there

ALL = ReadAllAvailable()
Make = Callable[..., RocketMQStreamReader]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(masters=2, topics={"orders": 1}, clock="frozen") as cluster:
        yield cluster


def send(cluster: Cluster, count: int, topic: str = "orders") -> None:
    """Send this number of messages to each queue."""
    with Client(cluster.namesrv_addr) as client:
        for queue in client.publish_queues(topic):
            for _ in range(count):
                client.send(Message(topic, "m"), queue=queue)


@pytest.fixture
def stream() -> Iterator[Make]:
    """Makes readers of a cluster by their options; they are stopped with the test."""
    with ExitStack() as stack:

        def make(cluster: Cluster, **given: Any) -> RocketMQStreamReader:
            least = {"nameServer": cluster.namesrv_addr, "startingOffsets": "earliest"}
            if "subscribePattern" not in given:
                least["subscribe"] = "orders"
            texts = {name: str(value) for name, value in given.items()}
            options = read_options(Options("rocketmq", least | texts), streaming=True)
            reader = RocketMQStreamReader(options, wait=lambda _: None)
            stack.callback(reader.stop)
            return reader

        yield make


def at(a: int, b: int) -> dict[str, Any]:
    return {"orders": {"broker-a": {"0": a}, "broker-b": {"0": b}}}


def read(reader: RocketMQStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
    start, end = json.loads(json.dumps(start)), json.loads(json.dumps(end))
    partitions = reader.partitions(start, end)
    worker = pickle.loads(pickle.dumps(reader))
    return sorted(
        (row["broker"], row["offset"])
        for part in partitions
        for batch in worker.read(part)
        for row in batch.to_pylist()
    )


def test_stream_reads_new_messages(cluster: Cluster, stream: Make) -> None:
    send(cluster, 3)
    reader = stream(cluster)
    start = reader.initialOffset()
    assert start == at(0, 0)
    assert stream(cluster, startingOffsets="latest").initialOffset() == at(3, 3)
    end = reader.latestOffset(start, ALL)
    assert end == at(3, 3) == reader.reportLatestOffset()
    assert read(reader, start, end) == [(b, n) for b in ("broker-a", "broker-b") for n in range(3)]
    assert reader.latestOffset(end, ALL) == end
    assert reader.partitions(end, end) == []
    send(cluster, 1)
    assert reader.latestOffset(end, ALL) == at(4, 4)


def test_batch_takes_no_more_than_its_limit(cluster: Cluster, stream: Make) -> None:
    send(cluster, 10)
    reader = stream(cluster, maxOffsetsPerTrigger=6)
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(6)
    assert reader.latestOffset(at(0, 0), limit) == at(3, 3)
    assert reader.latestOffset(at(0, 0), ALL) == at(10, 10)
    assert reader.reportLatestOffset() == at(10, 10)


def test_batch_waits_for_its_minimum(cluster: Cluster, stream: Make) -> None:
    send(cluster, 2)
    reader = stream(cluster, minOffsetsPerTrigger=5)
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMinRows(5)
    assert reader.latestOffset(at(0, 0), limit) == at(2, 2), "the first does not wait"
    send(cluster, 2)
    assert reader.latestOffset(at(2, 2), limit) == at(2, 2)
    assert reader.latestOffset(at(2, 2), ALL) == at(4, 4)
    send(cluster, 1)
    assert reader.latestOffset(at(2, 2), limit) == at(5, 5)
    reader = stream(cluster, minOffsetsPerTrigger=5, maxTriggerDelay="0s")
    assert reader.latestOffset(at(0, 0), limit) == at(5, 5)
    assert reader.latestOffset(at(4, 4), limit) == at(5, 5), "it has waited long enough"


def test_available_now_reads_what_existed_at_start(cluster: Cluster, stream: Make) -> None:
    send(cluster, 5)
    reader = stream(cluster, maxOffsetsPerTrigger=6)
    reader.prepareForTriggerAvailableNow()
    send(cluster, 5)
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset(at(0, 0), limit) == at(3, 3)
    assert reader.latestOffset(at(3, 3), limit) == at(5, 5)
    assert reader.latestOffset(at(5, 5), limit) == at(5, 5)


def test_available_now_from_latest_reads_nothing(cluster: Cluster, stream: Make) -> None:
    send(cluster, 5)
    reader = stream(cluster, startingOffsets="latest")
    reader.prepareForTriggerAvailableNow()
    send(cluster, 5)
    start = reader.initialOffset()
    assert start == reader.latestOffset(start, ALL) == at(5, 5)


def test_available_now_reports_a_missing_queue(cluster: Cluster, stream: Make) -> None:
    former = {"former": {"broker-a": {"0": 7}}}
    reader = stream(cluster, subscribePattern="orders|former")
    reader.prepareForTriggerAvailableNow()
    with pytest.raises(DataLossError, match="topic former, broker broker-a, queue 0"):
        reader.latestOffset(at(0, 0) | former, ALL)


def test_broker_that_returns_during_the_search_has_lost_nothing(
    cluster: Cluster, stream: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def after_it_came_back(client: Client) -> set[str]:
        cluster.broker("broker-a-0").restart()
        return brokers_there(client)

    monkeypatch.setattr(stream_reader, "brokers_there", after_it_came_back)
    send(cluster, 2)
    reader = stream(cluster)
    cluster.broker("broker-a-0").kill()
    assert reader.latestOffset(at(1, 1), ALL) == at(1, 2)
    assert reader.latestOffset(at(1, 1), ALL) == at(2, 2)


def test_new_queue_is_read_from_its_earliest_offset(cluster: Cluster, stream: Make) -> None:
    reader = stream(cluster, subscribePattern="orders|later")
    start = reader.latestOffset(reader.initialOffset(), ALL)
    assert start == at(0, 0)
    with Client(cluster.namesrv_addr) as client:
        client.create_topic("later", 1)
    send(cluster, 2, "later")
    joined = reader.latestOffset(start, ALL)
    later = {"broker-a": {"0": 0}, "broker-b": {"0": 0}}
    assert joined == {"later": later} | start
    assert read(reader, start, joined) == []
    end = reader.latestOffset(joined, ALL)
    assert len(read(reader, joined, end)) == 4


def test_absent_broker_is_waited_for(cluster: Cluster, stream: Make) -> None:
    send(cluster, 2)
    reader = stream(cluster)
    cluster.broker("broker-a-0").kill()
    assert reader.latestOffset(at(1, 1), ALL) == at(1, 2)
    cluster.broker("broker-b-0").kill()
    assert reader.latestOffset(at(1, 1), ALL) == at(1, 1), "even without any route"
    cluster.broker("broker-a-0").restart()
    assert reader.latestOffset(at(1, 1), ALL) == at(2, 1)


def test_deleted_topic_is_data_loss(cluster: Cluster, stream: Make) -> None:
    send(cluster, 2)
    cluster.topic("orders").delete()
    with pytest.raises(DataLossError, match="its broker no longer has it"):
        stream(cluster).latestOffset(at(1, 1), ALL)
    reader = stream(cluster, failOnDataLoss="false")
    with pytest.warns(DataLossWarning):
        assert reader.latestOffset(at(1, 1), ALL) == at(1, 1)


def test_recreated_topic_is_data_loss(cluster: Cluster, stream: Make) -> None:
    send(cluster, 2)
    with pytest.raises(DataLossError, match=r"offset 9, but the offsets are 0 to 1"):
        stream(cluster).latestOffset(at(9, 2), ALL)
    reader = stream(cluster, failOnDataLoss="false")
    with pytest.warns(DataLossWarning):
        joined = reader.latestOffset(at(9, 2), ALL)
    assert joined == at(0, 2)
    assert read(reader, at(9, 2), joined) == []
    end = reader.latestOffset(joined, ALL)
    assert read(reader, joined, end) == [("broker-a", 0), ("broker-a", 1)]


def test_slave_that_is_behind_moves_no_offset_back(stream: Make) -> None:
    with Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}) as cluster:
        send(cluster, 4)
        cluster.broker("broker-a-0").kill()
        here = {"orders": {"broker-a": {"0": 9}}}
        assert stream(cluster).latestOffset(here, ALL) == here
        start = {"orders": {"broker-a": {"0": 1}}}
        assert stream(cluster).latestOffset(start, ALL) == {"orders": {"broker-a": {"0": 4}}}


def test_queues_no_longer_selected_are_ignored(cluster: Cluster, stream: Make) -> None:
    send(cluster, 2)
    start = at(1, 1) | {"former": {"broker-a": {"0": 7}}}
    assert stream(cluster).latestOffset(start, ALL) == at(2, 2) | {"former": start["former"]}


def test_unreadable_topics_are_refused(cluster: Cluster, stream: Make) -> None:
    with pytest.raises(UnknownTopicError, match="topic order has no route"):
        stream(cluster, subscribe="order").initialOffset()
    with pytest.raises(UnknownTopicError, match="topic order has no route"):
        stream(cluster, subscribe="orders,order").latestOffset(at(0, 0), ALL)
    with pytest.raises(ConfigError, match="does not support consumer to filter"):
        stream(cluster, sql="a > 5").latestOffset(at(0, 0), ALL)
    with pytest.raises(NameServerError, match=r"of 127\.0\.0\.1:1"):
        stream(cluster, nameServer="127.0.0.1:1").latestOffset(at(0, 0), ALL)


def test_group_offset_follows_the_stream(cluster: Cluster, stream: Make) -> None:
    send(cluster, 2)
    stream(cluster, group="G", commitOffsets="true").commit(at(1, 2))
    stream(cluster, group="Other").commit(at(1, 2))
    queue = MessageQueue(topic="orders", broker_name="broker-b", queue_id=0)
    with Client(cluster.namesrv_addr, consumer_group="G") as client:
        assert client.query_offset(queue) == 2
    with Client(cluster.namesrv_addr, consumer_group="Other") as client:
        assert client.query_offset(queue) in (None, 0)
    cluster.broker("broker-a-0").kill()
    with pytest.warns(UserWarning, match="offsets not committed"):
        stream(cluster, group="G", commitOffsets="true").commit(at(2, 2))
