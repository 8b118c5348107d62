"""What a pull consumer sends, and which messages of an answer it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fakemq.client import Client
from fakemq.client.errors import MQBrokerError, MQClientError
from fakemq.client.messages import PullStatus
from fakemq.client.pull_operations import PullOperations
from fakemq.protocol.bodies.queue import LockBatchRequestBody, LockBatchResponseBody
from fakemq.protocol.bodies.route import BrokerData, TopicRouteData
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import encode_record
from tests.support.scripted_operation import A, B, ScriptedOperation, answer, client, queue
from tests.support.time import START_MS

HOST = ("127.0.0.1", 1)


def pulled(code: int = 0, body: bytes = b"", broker_id: int = 0) -> RemotingCommand:
    return answer(
        code,
        body=body,
        suggestWhichBrokerId=broker_id,
        nextBeginOffset=5,
        minOffset=0,
        maxOffset=9,
    )


def record(tag: str) -> bytes:
    return encode_record(
        "orders", b"body", f"TAGS\x01{tag}", queue_id=0, born_host=HOST, store_host=HOST
    )


def test_pull_has_the_fields_of_a_4_9_7_consumer() -> None:
    play = ScriptedOperation(
        PullOperations(client("a"), "g").pull(queue(), 3, suspend_ms=20_000), pulled(19)
    )
    call = play.calls[0]
    assert (call.addr, call.command.code, call.timeout_ms) == (A, 11, 35_000)
    assert call.command.ext_fields == {
        "bname": "a",
        "consumerGroup": "g",
        "topic": "orders",
        "queueId": "0",
        "queueOffset": "3",
        "maxMsgNums": "32",
        "sysFlag": "6",
        "commitOffset": "0",
        "suspendTimeoutMillis": "20000",
        "subscription": "*",
        "subVersion": "0",
        "expressionType": "TAG",
    }
    assert play.result.status is PullStatus.NO_NEW_MSG
    assert (play.result.next_begin_offset, play.result.max_offset) == (5, 9)


def test_message_with_another_tag_of_the_same_hash_is_omitted() -> None:
    body = record("Aa") + record("BB")  # "Aa" and "BB" have one hash
    play = ScriptedOperation(
        PullOperations(client("a")).pull(queue(), 0, expression="Aa"), pulled(0, body)
    )
    assert [one.tags for one in play.result.messages] == ["Aa"]
    assert play.result.status is PullStatus.FOUND


def test_flags_follow_the_arguments() -> None:
    consumer = PullOperations(client("a"))
    play = ScriptedOperation(
        consumer.pull(queue(), 0, expression=None, commit_offset=7), pulled(20)
    )
    fields = play.calls[0].command.ext_fields
    assert (fields["sysFlag"], fields["commitOffset"]) == ("1", "7")
    assert "subscription" not in fields
    assert play.result.status is PullStatus.NO_MATCHED_MSG


def test_next_pull_goes_to_the_suggested_broker() -> None:
    instance = client()
    data = TopicRouteData(broker_datas=[BrokerData(broker_name="a", broker_addrs={0: A, 1: "s:1"})])
    instance.routes.put("orders", data, 0)
    consumer = PullOperations(instance)
    ScriptedOperation(consumer.pull(queue(), 0), pulled(19, broker_id=1))
    play = ScriptedOperation(consumer.pull(queue(), 0, commit_offset=3), pulled(21))
    assert play.addrs == ["s:1"]
    assert play.calls[0].command.ext_fields["sysFlag"] == "4", "a slave keeps no offsets"
    assert play.result.status is PullStatus.OFFSET_ILLEGAL


def test_error_codes_and_an_unknown_broker_are_raised() -> None:
    with pytest.raises(MQBrokerError) as caught:
        ScriptedOperation(PullOperations(client("a")).pull(queue(), 0), answer(24, remark="no"))
    assert caught.value.code == 24
    with pytest.raises(MQClientError, match=r"The broker\[z\] not exist"):
        ScriptedOperation(PullOperations(client("a")).pull(queue("z"), 0), answer(17))


def test_subscription_is_in_the_next_heartbeat() -> None:
    instance = client("a")
    consumer = PullOperations(instance, "g")
    ScriptedOperation(consumer.subscribe("orders", "x || y"))
    ScriptedOperation(consumer.subscribe("orders", "z"))
    (data,) = instance.heartbeat_data().consumer_data_set
    (wanted,) = data.subscription_data_set
    assert (wanted.topic, wanted.tags_set, wanted.sub_version) == ("orders", ["z"], START_MS)
    assert data.consume_type == "CONSUME_PASSIVELY"
    assert consumer.subscription("orders") is wanted
    assert consumer.subscription("other") is None


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.pull("orders", 0),
        lambda c: c.query_offset("orders"),
        lambda c: c.update_offset("orders", 1),
        lambda c: c.check_expression("orders", "*", "TAG"),
        lambda c: c.lock(["orders"]),
        lambda c: c.unlock(["orders"]),
        lambda c: c.max_offset("orders"),
        lambda c: c.min_offset("orders"),
        lambda c: c.search_offset("orders", 0),
        lambda c: c.earliest_store_time_ms("orders"),
    ],
)
def test_topic_in_the_place_of_a_queue_is_refused(ask: Callable[[Any], object]) -> None:
    expected = r"^queue='orders': expected a MessageQueue, as of subscribe_queues\(topic\)$"
    # Refused before any request: there is no name server.
    with Client("127.0.0.1:1") as client, pytest.raises(TypeError, match=expected):
        ask(client)


def test_offsets_are_queried_and_committed() -> None:
    consumer = PullOperations(client("a"), "g")
    assert ScriptedOperation(consumer.query_offset(queue()), answer(offset=8)).result == 8
    assert ScriptedOperation(consumer.query_offset(queue()), answer(22)).result is None
    with pytest.raises(MQBrokerError):
        ScriptedOperation(consumer.query_offset(queue()), answer(1))
    notified = ScriptedOperation(consumer.update_offset(queue(), 3), None)
    assert notified.calls[0].command.is_oneway
    asked = ScriptedOperation(consumer.update_offset(queue(), 3, oneway=False), answer())
    assert not asked.calls[0].command.is_oneway
    assert asked.calls[0].command.ext_fields["commitOffset"] == "3"


def test_locks_are_requested_broker_by_broker() -> None:
    instance = client("a", "b")
    consumer = PullOperations(instance, "g")
    queues = [queue("a", 0), queue("b", 0), queue("a", 1)]
    play = ScriptedOperation(
        consumer.lock(queues),
        answer(body=LockBatchResponseBody(lock_ok_mq_set=[queue("a", 0)])),
        answer(body=LockBatchResponseBody(lock_ok_mq_set=[queue("b", 0)])),
    )
    assert play.addrs == [A, B]
    assert play.result == {queue("a", 0), queue("b", 0)}
    body = LockBatchRequestBody.decode(play.calls[0].command.body)
    assert (body.client_id, body.mq_set) == (instance.client_id, [queue("a", 0), queue("a", 1)])
    assert ScriptedOperation(consumer.unlock(queues), answer(), answer()).over
    assert ScriptedOperation(consumer.unlock(queues[:1], oneway=True), None).over
