"""What one task writes, without a session."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fakemq.cluster import Cluster
from fakemq.handles.values import Message
from fakemq.protocol.java import java_string_hash
from fakemq.spark.writing.deliveries import DeliveryError
from fakemq.spark.writing.options import ROW_ID_PROPERTY
from fakemq.spark.writing.rows import RowError
from tests.support.writes import rows, write

TO_ORDERS = {"topic": "orders"}


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with Cluster(masters=2) as cluster:
        yield cluster


@pytest.fixture
def mq(running: Cluster) -> Cluster:
    running.reset()
    return running


def numbers(arrived: list[Message]) -> list[int]:
    return [int(one.body) for one in arrived]


def numbered(count: int, **more: list[object]) -> dict[str, list[object]]:
    return {"value": [b"%d" % n for n in range(count)], **more}


def test_rows_without_a_key_are_spread_evenly(mq: Cluster) -> None:
    mq.create_topic("orders", 4)
    written = write(mq.namesrv_addr, rows(**numbered(1000)), TO_ORDERS)
    assert [one.max_offset for one in mq.queues("orders")] == [125] * 8
    assert set(written.offsets.values()) == {(0, 124)}
    assert len(written.offsets) == 8
    assert (written.rows, written.body_bytes, written.delayed) == (1000, 2890, 0)
    assert dict(written.statuses) == {"SEND_OK": 1000}


def test_equal_sharding_keys_share_javas_queue_in_order(mq: Cluster) -> None:
    mq.create_topic("orders", 3)
    # Of the last one the hash is the most negative there is.
    keys = ["alice", "bob", "münchen", "😀", "polygenelubricants"]
    assert java_string_hash(keys[-1]) == -(2**31)
    batch = rows(**numbered(500, shardingKey=[keys[n % 5] for n in range(500)]))
    write(mq.namesrv_addr, [batch.slice(0, 180), batch.slice(180)], {**TO_ORDERS, "batchSize": "7"})
    queues = [(broker, queue) for broker in ("broker-a", "broker-b") for queue in range(3)]
    arrived = mq.messages("orders")
    assert len(arrived) == 500
    for number, key in enumerate(keys):
        mine = [one for one in arrived if int(one.body) % 5 == number]
        assert numbers(mine) == list(range(number, 500, 5))
        place = queues[abs(java_string_hash(key)) % 6]
        assert {(one.broker, one.queue_id) for one in mine} == {place}


def test_row_may_name_its_queue(mq: Cluster) -> None:
    mq.create_topic("orders", 2)
    batch = rows(value=[b"0", b"1", b"2"], broker=["broker-b", None, None], queueId=[1, 1, None])
    write(mq.namesrv_addr, batch, TO_ORDERS)
    arrived = {int(one.body): (one.broker, one.queue_id) for one in mq.messages("orders")}
    assert arrived[0] == ("broker-b", 1)
    assert arrived[1] == ("broker-a", 1)
    with pytest.raises(RowError, match="is for queue 2 of broker broker-b, which cannot"):
        write(mq.namesrv_addr, rows(value=[b"0"], broker=["broker-b"], queueId=[2]), TO_ORDERS)


def test_rows_that_fit_no_batch_are_sent_alone_in_order(mq: Cluster) -> None:
    bodies = [b"%d" % n for n in range(4)]
    batch = rows(
        value=[bodies[0], bodies[1] + b" " * 2_000_000, bodies[2], bodies[3]],
        shardingKey=["a"] * 4,
        delayLevel=[None, 0, None, 18],
        properties=[None, None, [("p", "x" * 31_000)], None],
    )
    written = write(mq.namesrv_addr, batch, TO_ORDERS)
    assert numbers(mq.messages("orders")) == [0, 1, 2]
    ((_, *first_and_last),) = [(name, *span) for name, span in written.offsets.items()]
    assert first_and_last == [0, 2]
    (waiting,) = mq.delayed("orders")
    assert (waiting.message.body, waiting.level, written.delayed) == (b"3", 18, 1)


def test_repeated_task_sends_equal_rows_with_the_same_ids(mq: Cluster) -> None:
    batch = rows(value=[b"a", b"b", b"a", b"a"], key=["k", None, "k", None])
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        write(mq.namesrv_addr, batch.take(order), TO_ORDERS)
    write(mq.namesrv_addr, batch, TO_ORDERS, partition=1)
    named: dict[str, set[tuple[bytes, str]]] = {}
    for one in mq.messages("orders"):
        named.setdefault(one.properties[ROW_ID_PROPERTY], set()).add((one.body, one.keys))
    assert len(named) == 8
    assert all(len(contents) == 1 for contents in named.values())


def test_id_is_omitted_when_disabled_or_given_by_the_row(mq: Cluster) -> None:
    batch = rows(value=[b"0"], properties=[[("mine", "7")]])
    write(mq.namesrv_addr, batch, {**TO_ORDERS, "rowIdProperty": "none"})
    write(mq.namesrv_addr, batch, {**TO_ORDERS, "rowIdProperty": "mine"})
    for one in mq.messages("orders"):
        assert one.properties["mine"] == "7"
        assert ROW_ID_PROPERTY not in one.properties


def test_topic_may_differ_by_row(mq: Cluster) -> None:
    write(mq.namesrv_addr, rows(**numbered(4, topic=["t0", "t1"] * 2)))
    assert sorted(numbers(mq.messages("t1"))) == [1, 3]
    write(mq.namesrv_addr, rows(**numbered(4, topic=["t0", "t1"] * 2)), TO_ORDERS)
    assert len(mq.messages("orders")) == 4


@pytest.mark.parametrize("fault", ["busy", "not available", "answer lost"])
def test_order_holds_when_sends_are_repeated(mq: Cluster, fault: str) -> None:
    mq.create_topic("orders", 1)
    if fault == "busy":
        mq.faults.error("SEND_BATCH_MESSAGE", code="SYSTEM_BUSY", on_call=2)
    elif fault == "not available":
        mq.faults.error("SEND_BATCH_MESSAGE", code="SERVICE_NOT_AVAILABLE", on_call=3)
    else:
        mq.faults.close("SEND_BATCH_MESSAGE", at="before_reply", on_call=2)
    batch = rows(**numbered(60, shardingKey=["a", "b"] * 30))
    written = write(mq.namesrv_addr, batch, {**TO_ORDERS, "batchSize": "5"})
    assert mq.faults.unused() == []
    first: dict[str, Message] = {}
    for one in mq.messages("orders"):
        first.setdefault(one.properties[ROW_ID_PROPERTY], one)
    assert written.rows == 60
    for rest in (0, 1):
        mine = [n for n in numbers(list(first.values())) if n % 2 == rest]
        assert mine == list(range(rest, 60, 2))


def test_absent_broker_that_returns_in_time_is_waited_for(mq: Cluster) -> None:
    mq.create_topic("orders", 1)
    kill = mq.faults.kill("SEND_BATCH_MESSAGE", at="before_reply", node="broker-a", on_call=3)
    batch = rows(**numbered(400, shardingKey=[f"k{n % 9}" for n in range(400)]))
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write, mq.namesrv_addr, batch, {**TO_ORDERS, "batchSize": "5"})
        mq.wait_for(lambda: kill.fired == 1)
        mq.broker("broker-a").restart()
        assert writing.result(60).rows == 400
    first: dict[str, int] = {}
    for one in mq.messages("orders"):
        first.setdefault(one.properties[ROW_ID_PROPERTY], int(one.body))
    for rest in range(9):
        assert [n for n in first.values() if n % 9 == rest] == list(range(rest, 400, 9))


def test_rows_without_a_key_go_to_another_broker(mq: Cluster) -> None:
    mq.create_topic("orders", 1)
    mq.broker("broker-a").kill()
    try:
        written = write(mq.namesrv_addr, rows(**numbered(10)), TO_ORDERS)
        assert {broker for _, broker, _ in written.offsets} == {"broker-b"}
        assert written.rows == 10
    finally:
        mq.broker("broker-a").restart()


def test_cluster_without_brokers_is_waited_for_as_configured(mq: Cluster) -> None:
    # A client that asks for the route just before the broker is back, and for TBW102's just after,
    # sends to any of the four queues that a new topic would have, as Java's does.
    mq.create_topic("orders", 4)
    brokers = [mq.broker(name) for name in ("broker-a", "broker-b")]
    for broker in brokers:
        broker.kill()
    try:
        with pytest.raises(DeliveryError, match="no queue of topic orders to write to: No route"):
            write(mq.namesrv_addr, rows(value=[b"0"]), {**TO_ORDERS, "deliveryTimeoutMs": "0"})
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(write, mq.namesrv_addr, rows(value=[b"0"]), TO_ORDERS)
            brokers[1].restart()
            assert writing.result(60).rows == 1
    finally:
        brokers[0].restart()


def test_brokers_error_reaches_the_user(mq: Cluster) -> None:
    mq.create_topic("orders", 1)
    mq.faults.error(
        "SEND_BATCH_MESSAGE", code="NO_PERMISSION", remark="the broker is read only", always=True
    )
    refused = r"could not send 1 message to topic orders: .* NO_PERMISSION \(16\) .* is read only"
    with pytest.raises(DeliveryError, match=f"(?s){refused}"):
        write(mq.namesrv_addr, rows(value=[b"0"]), TO_ORDERS)
    with pytest.raises(DeliveryError, match="queue 0 of broker-a: NO_PERMISSION"):
        write(mq.namesrv_addr, rows(value=[b"0"], queueId=[0]), TO_ORDERS)


def test_oversized_message_is_refused(mq: Cluster) -> None:
    with pytest.raises(DeliveryError, match=r"to topic orders: .* over max value, MAX: 4194304"):
        write(mq.namesrv_addr, rows(value=[b"x" * 4_194_305]), TO_ORDERS)


def test_wait_ends_at_its_limit(mq: Cluster) -> None:
    mq.create_topic("orders", 1)
    mq.faults.error("SEND_BATCH_MESSAGE", code="SYSTEM_BUSY", remark="later", always=True)
    given = {**TO_ORDERS, "deliveryTimeoutMs": "60"}
    with pytest.raises(DeliveryError, match=r"in \d+ tries: .*SYSTEM_BUSY .* later"):
        write(mq.namesrv_addr, rows(value=[b"0"], shardingKey=["a"]), given)


def test_wait_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    given = {**TO_ORDERS, "deliveryTimeoutMs": "300"}
    with pytest.raises(DeliveryError, match=r"no queue of topic orders .* \[127.0.0.1:1\] failed"):
        write("127.0.0.1:1", rows(value=[b"0"]), given)
    notified = [record.getMessage() for record in caplog.records if record.name == "fakemq.spark"]
    assert len(notified) == 1
    assert (
        "tried again for up to 300 ms (deliveryTimeoutMs): connect to [127.0.0.1:1]" in notified[0]
    )


def test_uncertain_message_counts_as_sent_unless_configured(mq: Cluster) -> None:
    mq.create_topic("orders", 1)
    mq.faults.reply("SEND_BATCH_MESSAGE", code="FLUSH_DISK_TIMEOUT", at="before_reply", times=2)
    written = write(mq.namesrv_addr, rows(value=[b"0"]), TO_ORDERS)
    assert written.doubted == {"FLUSH_DISK_TIMEOUT": 1}
    assert "1 FLUSH_DISK_TIMEOUT" in str(written)
    with pytest.raises(DeliveryError, match=r"stored with FLUSH_DISK_TIMEOUT, .* allows SEND_OK"):
        write(mq.namesrv_addr, rows(value=[b"0"]), {**TO_ORDERS, "acceptStatuses": "SEND_OK"})


def test_unknown_topic_fails_at_once_when_none_is_created() -> None:
    refused = pytest.raises(DeliveryError, match="no queue of topic orders to write to: No route")
    with Cluster(config={"autoCreateTopicEnable": "false"}) as cluster, refused:
        write(cluster.namesrv_addr, rows(value=[b"0"]), TO_ORDERS)


def test_empty_task_sends_nothing(mq: Cluster) -> None:
    assert write(mq.namesrv_addr, rows(value=[]), TO_ORDERS).rows == 0
    assert write(mq.namesrv_addr, [], TO_ORDERS).rows == 0
    assert "orders" not in mq.topics()
