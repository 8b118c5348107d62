"""Message queues are values, ordered as Java compares them."""

from __future__ import annotations

from fakemq.protocol.bodies.queue import LockBatchRequestBody, LockBatchResponseBody, MessageQueue


def test_queue_is_a_value() -> None:
    assert len({MessageQueue("t", "b", 1), MessageQueue("t", "b", 1)}) == 1
    queues = [MessageQueue("t", "b", 1), MessageQueue("s", "c", 2), MessageQueue("t", "a", 3)]
    assert [queue.queue_id for queue in sorted(queues)] == [2, 3, 1]


def test_lock_bodies_are_read_and_written() -> None:
    request = b'{"clientId":"c","consumerGroup":"g","mqSet":[{"topic":"t","queueId":"1"}]}'
    assert LockBatchRequestBody.decode(request) == LockBatchRequestBody(
        "g", "c", [MessageQueue("t", None, 1)]
    )
    assert LockBatchResponseBody([MessageQueue("t", "b", 1)]).encode() == (
        b'{"lockOKMQSet":[{"brokerName":"b","queueId":1,"topic":"t"}]}'
    )
