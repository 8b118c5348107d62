"""What tasks tell the driver, and what it says of that."""

from __future__ import annotations

import logging
import pickle

import pytest
from pyspark.sql.types import StringType, StructField, StructType

from fakemq.client import SendResult, SendStatus
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.spark.options import Options
from fakemq.spark.writing.parcels import Written
from fakemq.spark.writing.writers import BatchWriter, StreamWriter

OPTIONS = Options("rocketmq", {"nameServer": "127.0.0.1:1", "topic": "orders", "writeId": "w"})
SCHEMA = StructType([StructField("value", StringType())])


def sent(offset: int, status: SendStatus = SendStatus.SEND_OK, queue_id: int = 0) -> SendResult:
    queue = MessageQueue(topic="orders", broker_name="broker-a", queue_id=queue_id)
    return SendResult(status, "", "", queue, offset)


def written(*results: SendResult, rows: int = 10, is_delayed: bool = False) -> Written:
    found = Written()
    for result in results:
        found.body_bytes += rows
        found.add(rows, result, is_delayed=is_delayed)
    return found


def test_commit_message_has_first_and_last_offsets() -> None:
    found = pickle.loads(pickle.dumps(written(sent(30), sent(10), sent(5, queue_id=1))))
    assert found.offsets == {
        ("orders", "broker-a", 0): (10, 39),
        ("orders", "broker-a", 1): (5, 14),
    }


def test_messages_of_several_tasks_are_merged() -> None:
    doubted = written(sent(40, SendStatus.SLAVE_NOT_AVAILABLE))
    delayed = written(sent(7), rows=1, is_delayed=True)
    total = Written.total([written(sent(0)), None, doubted, delayed])
    assert total.offsets == {("orders", "broker-a", 0): (0, 49)}
    assert str(total) == "21 rows, 21 bytes, 1 queues, 1 delayed, 10 SLAVE_NOT_AVAILABLE"


@pytest.mark.parametrize("stream", [False, True])
def test_driver_logs_a_summary(caplog: pytest.LogCaptureFixture, stream: bool) -> None:
    caplog.set_level(logging.INFO, "fakemq.spark")
    well, doubted = written(sent(0)), written(sent(0, SendStatus.FLUSH_DISK_TIMEOUT))
    if stream:
        streaming: StreamWriter = pickle.loads(pickle.dumps(StreamWriter(OPTIONS, SCHEMA)))
        streaming.commit([well], 7)
        streaming.commit([doubted], 8)
        streaming.abort([well, None], 9)
    else:
        batch: BatchWriter = pickle.loads(pickle.dumps(BatchWriter(OPTIONS, SCHEMA, False)))
        batch.commit([well])
        batch.commit([doubted])
        batch.abort([well, None])
    assert [one.levelname for one in caplog.records] == ["INFO", "WARNING", "WARNING"]
    names = [f"micro-batch {n}" for n in (7, 8, 9)] if stream else ["write w"] * 3
    failed = f"{names[2]} failed; what its tasks sent stays sent, of tasks that ended well:"
    assert [one.getMessage().removeprefix("rocketmq: ") for one in caplog.records] == [
        f"{names[0]}: 10 rows, 10 bytes, 1 queues",
        f"{names[1]}: 10 rows, 10 bytes, 1 queues, 10 FLUSH_DISK_TIMEOUT",
        f"{failed} 10 rows, 10 bytes, 1 queues",
    ]
