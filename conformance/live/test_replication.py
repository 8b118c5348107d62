"""A Java slave of a fake master, and a fake slave of a Java master: everything is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.drivers.stored_messages import QUEUES, STOCK_CONFIG, TOPICS, Stock
from conformance.live.groups import CROWDED
from conformance.live.store_walk import SIZES
from conformance.targets.replicas import (
    ATTACHED,
    MasterOf,
    Node,
    Reader,
    SlaveOf,
    assert_same_stores,
    assert_same_tables,
    fake_master,
    fake_slave,
    java_master,
    java_slave,
    log_end,
    log_of,
    send_until_safe,
    wait_in_step,
)
from conformance.wire.raw import RawConnection, call, create_topic, frame, json_header
from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus
from fakemq.protocol.message import decode_record

# A slave connects after 5 s and reports after 10, in a JVM that takes its time to start.
pytestmark = [pytest.mark.slow, CROWDED]

SYNC_MASTER = {"brokerRole": "SYNC_MASTER", "slaveTimeout": "15000"}
A_THREAD = 256
"""Messages of each of 16 threads; one in 16 is a batch of four."""
ACKED = 16 * (A_THREAD + A_THREAD // 16 * 3)
MANY_SIZES = {
    "mappedFileSizeCommitLog": str(256 << 10),
    "mappedFileSizeConsumeQueue": "4000",
    "maxHashSlotNum": "1000",
    "maxIndexNum": "8000",
}
FILE_BYTES = int(SIZES["mappedFileSizeCommitLog"])
TOPIC = "Replicated"
_DELETE_TOPIC_IN_BROKER = 215


BOTH_WAYS = pytest.mark.parametrize(
    ("master_of", "slave_of"),
    [
        pytest.param(fake_master, java_slave, id="java-slave-of-fake-master"),
        pytest.param(java_master, fake_slave, id="fake-slave-of-java-master"),
    ],
)


@BOTH_WAYS
def test_all_that_sixteen_threads_send_arrives(
    java: None, tmp_path: Path, master_of: MasterOf, slave_of: SlaveOf
) -> None:
    """Every kind of message: delayed, half, sent back, compressed and in batches."""
    config = {**SYNC_MASTER, **MANY_SIZES, **STOCK_CONFIG}
    topics = dict.fromkeys((*TOPICS, ATTACHED), QUEUES)
    with (
        master_of(tmp_path, config, topics) as master,
        slave_of(tmp_path, config, master) as slave,
        Stock() as stock,
    ):
        with Client(master.namesrv_addr, send_timeout_ms=30_000) as client:
            print(f"before the slave is there: {send_until_safe(client)}")
        stock.consume(master.namesrv_addr)
        stock.load(master.namesrv_addr, "one", A_THREAD)
        stock.wait_loaded()
        assert len(stock.acks) == ACKED
        stock.wait_consumed(stock.keys())
        stock.leave()
        assert_same_tables(master, slave)
        assert assert_same_stores(master, slave) == 0
        assert len(log_of(slave)) > 5


@BOTH_WAYS
def test_empty_slave_begins_with_its_masters_last_file(
    java: None, tmp_path: Path, master_of: MasterOf, slave_of: SlaveOf
) -> None:
    config = {**SYNC_MASTER, **SIZES}
    with (
        master_of(tmp_path, config, {TOPIC: QUEUES, ATTACHED: 1}) as master,
        Client(master.namesrv_addr, send_timeout_ms=30_000) as client,
    ):
        number = 0
        while log_end(master) < FILE_BYTES * 5 // 2:
            sent = client.send(Message(TOPIC, bytes(1 + number * 7 % 1500), keys=f"k{number}"))
            assert sent.status is SendStatus.SLAVE_NOT_AVAILABLE
            number += 1
        assert len(log_of(master)) == 3
        with slave_of(tmp_path, config, master) as slave:
            wait_in_step(master, slave)
            assert list(log_of(slave)) == [2 * FILE_BYTES]
            assert assert_same_stores(master, slave) == 2 * FILE_BYTES
            send_until_safe(client)
            while log_end(master) < 5 * FILE_BYTES:
                message = Message(TOPIC, bytes(1 + number * 7 % 1500), keys=f"k{number}")
                assert client.send(message).status is SendStatus.SEND_OK
                number += 1
            assert assert_same_stores(master, slave) == 2 * FILE_BYTES
            assert len(log_of(slave)) > 3


def bodies_of(node: Node, count: int) -> list[str]:
    """Return the bodies of ``count`` messages of a queue, in its order."""
    with RawConnection(node.addr) as connection:
        reader = Reader(connection)
        assert reader.wait_end(TOPIC, 0, count) == 0
        records = reader.records(TOPIC, 0, 0, count)
    return [decode_record(record).body.decode() for record in records]


@BOTH_WAYS
def test_slave_keeps_entries_of_a_topic_that_was_deleted_and_created_again(
    java: None, tmp_path: Path, master_of: MasterOf, slave_of: SlaveOf
) -> None:
    """A slave does not notice: the old entries stay, the first new one is behind them.

    The next ones are passed over until the master's queue is as long as the slave's.
    """
    config = {**SYNC_MASTER, **SIZES}
    with (
        master_of(tmp_path, config, {TOPIC: 1, ATTACHED: 1}) as master,
        slave_of(tmp_path, config, master) as slave,
        Client(master.namesrv_addr, send_timeout_ms=30_000) as client,
    ):
        send_until_safe(client)
        for number in range(5):
            client.send(Message(TOPIC, b"old %d" % number))
        deleted = call(master.addr, frame(_DELETE_TOPIC_IN_BROKER, {"topic": TOPIC}))
        assert json_header(deleted)["code"] == 0
        create_topic(master.addr, TOPIC, 1)
        for number in range(9):
            client.send(Message(TOPIC, b"new %d" % number))
        wait_in_step(master, slave)
        bodies = {name: bodies_of(node, 9) for name, node in (("master", master), ("slave", slave))}
    assert bodies["master"] == [f"new {number}" for number in range(9)]
    assert bodies["slave"] == [
        *(f"old {number}" for number in range(5)),
        *("new 0", "new 6", "new 7", "new 8"),
    ]
