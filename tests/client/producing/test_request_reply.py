"""Requests with replies: what is sent, what comes back, and when none does."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from uuid import UUID

import pytest

from fakemq.client.errors import (
    MQBrokerError,
    MQClientError,
    RemotingConnectError,
    RequestTimeoutError,
)
from fakemq.client.messages import Message
from fakemq.client.operation import Call
from fakemq.client.producing.request_reply import create_reply_message
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import MessageExt
from tests.support.producer_lab import CLIENT, ProducerLab, order
from tests.support.scripted_carrier import HELD
from tests.support.scripted_operation import A, answer
from tests.support.time import START_MS


def reply_to(
    correlation_id: str,
    body: bytes = b"pong",
    *,
    sys_flag: int = 0,
    fields: Mapping[str, str] | None = None,
) -> RemotingCommand:
    """What a broker sends to the client that waits."""
    ext_fields = {
        "producerGroup": "consumers",
        "topic": "c_REPLY_TOPIC",
        "defaultTopic": "TBW102",
        "defaultTopicQueueNums": "4",
        "queueId": "1",
        "sysFlag": str(sys_flag),
        "bornTimestamp": "5",
        "flag": "3",
        "properties": f"CORRELATION_ID\x01{correlation_id}",
        "bornHost": "10.0.0.9:4711",
        "storeHost": "10.0.0.2:10911",
        "storeTimestamp": "6",
        **(fields or {}),
    }
    return RemotingCommand(
        RequestCode.PUSH_REPLY_MESSAGE_TO_CLIENT, ext_fields=ext_fields, body=body, opaque=9
    )


def asked(lab: ProducerLab) -> str:
    return lab.last_properties()["CORRELATION_ID"]


def test_reply_is_returned_to_its_request() -> None:
    lab = ProducerLab()
    producer = lab.started()
    results = lab.carrier.start(producer.request(order(b"ping"), 2_000))
    properties = lab.last_properties()
    assert UUID(properties["CORRELATION_ID"]).version == 4
    assert (properties["REPLY_TO_CLIENT"], properties["TTL"]) == (CLIENT, "2000")
    assert results == []
    lab.carrier.advance(50)
    lab.carrier.push(A, reply_to(asked(lab)))
    ((reply, error),) = results
    assert error is None
    assert isinstance(reply, MessageExt)
    assert (reply.topic, reply.body, reply.queue_id, reply.flag) == ("c_REPLY_TOPIC", b"pong", 1, 3)
    assert (reply.born_host, reply.store_host) == (("10.0.0.9", 4711), ("10.0.0.2", 10911))
    assert (reply.born_timestamp_ms, reply.store_timestamp_ms) == (5, 6)
    assert reply.properties["ARRIVE_TIME"] == str(START_MS + 50)
    ((addr, response),) = lab.carrier.received
    assert (addr, response.code, response.opaque, response.is_response) == (A, 0, 9, True)


def test_brokers_know_the_client_before_its_first_request() -> None:
    lab = ProducerLab()
    producer = lab.started()
    lab.carrier.start(producer.request(order(), 100))
    codes = lab.carrier.codes()
    assert codes.index(RequestCode.HEART_BEAT) < codes.index(RequestCode.SEND_MESSAGE_V2)
    lab.carrier.calls.clear()
    lab.carrier.start(producer.request(order(), 100))
    assert lab.carrier.codes() == [RequestCode.SEND_MESSAGE_V2]


def test_reply_may_come_before_the_answer_to_the_send() -> None:
    lab = ProducerLab()
    producer = lab.started()
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: HELD
    results = lab.carrier.start(producer.request(order(), 100))
    lab.carrier.push(A, reply_to(asked(lab)))
    assert results[0][1] is None
    lab.carrier.held[-1].answer(answer(ResponseCode.SYSTEM_ERROR))
    lab.carrier.settle()
    assert len(lab.sends()) == 1, "the send is not tried again"


def test_no_reply_in_time_is_an_error() -> None:
    lab = ProducerLab()
    results = lab.carrier.start(lab.started().request(order(), 300))
    lab.carrier.advance(299)
    assert results == []
    lab.carrier.advance(1)
    error = results[0][1]
    assert isinstance(error, RequestTimeoutError)
    assert isinstance(error, TimeoutError)
    assert (str(error), error.code) == (
        "send request message to <orders> OK, but wait reply message timeout, 300 ms.",
        10006,
    )
    assert lab.services.instance.awaited_replies == {}
    lab.carrier.push(A, reply_to(asked(lab)))
    assert lab.carrier.received[0].answer.code == 0, "a late reply is answered, and dropped"


@pytest.mark.parametrize(
    ("outcome", "cause", "code"),
    [
        (answer(ResponseCode.MESSAGE_ILLEGAL, remark="no"), MQBrokerError, 13),
        (RemotingConnectError(A), MQClientError, 10001),
    ],
)
def test_request_that_cannot_be_sent_fails(
    outcome: RemotingCommand | RemotingConnectError, cause: type[Exception], code: int
) -> None:
    lab = ProducerLab()
    producer = lab.started()
    lab.answers[RequestCode.SEND_MESSAGE_V2] = lambda call: outcome
    with pytest.raises(MQClientError) as caught:
        lab.carrier.run(producer.request(order(), 300))
    assert caught.value.code == code
    assert isinstance(caught.value.__cause__, cause)
    words = str(caught.value.__cause__).partition("\n")[0]
    assert str(caught.value) == f"send request message to <orders> fail: {words}"
    assert lab.services.instance.awaited_replies == {}


def test_requests_under_way_get_their_own_replies() -> None:
    lab = ProducerLab()
    producer = lab.started()
    ids, results = [], []
    for _ in range(3):
        results.append(lab.carrier.start(producer.request(order(), 1_000)))
        ids.append(asked(lab))
    for number in (1, 2, 0):
        lab.carrier.push(A, reply_to(ids[number], str(number).encode()))
    replies = [one[0][0] for one in results]
    assert [reply.body for reply in replies if reply is not None] == [b"0", b"1", b"2"]


def test_request_goes_where_the_caller_says() -> None:
    lab = ProducerLab("a", "b")
    producer = lab.started()
    lab.carrier.start(producer.request(order(), 100, sharding_key=3))
    assert lab.sends()[-1][1].queue_id == 1
    lab.carrier.start(producer.request(order(), 100, selector=lambda queues, _: queues[0]))
    assert (lab.sends()[-1][0], lab.sends()[-1][1].queue_id) == (A, 0)


def test_reply_that_is_compressed_is_unpacked() -> None:
    lab = ProducerLab()
    results = lab.carrier.start(lab.started().request(order(), 100))
    lab.carrier.push(A, reply_to(asked(lab), zlib.compress(b"long"), sys_flag=0x1))
    assert results[0][0] is not None
    assert results[0][0].body == b"long"


def test_reply_that_cannot_be_unpacked_is_passed_on_as_it_is() -> None:
    lab = ProducerLab()
    results = lab.carrier.start(lab.started().request(order(), 100))
    lab.carrier.push(A, reply_to(asked(lab), b"no zlib", sys_flag=0x1))
    assert results[0][0] is not None
    assert results[0][0].body == b"no zlib"


@pytest.mark.parametrize(
    "fields",
    [
        {"bornHost": "nonsense"},
        {"storeHost": "a:b"},
        {"queueId": "many"},
        {"bornHost": "a:99999999999"},
    ],
)
def test_reply_that_cannot_be_read_is_refused(fields: dict[str, str]) -> None:
    lab = ProducerLab()
    results = lab.carrier.start(lab.started().request(order(), 100))
    lab.carrier.push(A, reply_to(asked(lab), fields=fields))
    ((_, response),) = lab.carrier.received
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "process reply message fail",
    )
    assert results == []


def test_reply_message_goes_to_the_client_that_asked() -> None:
    lab = ProducerLab("a", topics=("orders", "c_REPLY_TOPIC"))
    lab.carrier.run(lab.started().send(order()))
    request = received_request(CLUSTER="c", CORRELATION_ID="id", REPLY_TO_CLIENT=CLIENT, TTL="300")
    reply = create_reply_message(request, "pong")
    assert (reply.topic, reply.body) == ("c_REPLY_TOPIC", b"pong")
    assert reply.properties == {
        "MSG_TYPE": "reply",
        "CORRELATION_ID": "id",
        "REPLY_TO_CLIENT": CLIENT,
        "TTL": "300",
    }
    lab.carrier.run(lab.started("replies").send(reply))
    assert lab.carrier.calls[-1].command.code == RequestCode.SEND_REPLY_MESSAGE_V2


def test_reply_is_sent_with_long_names_without_smart_send() -> None:
    lab = ProducerLab("a", topics=("c_REPLY_TOPIC",))

    def stored(call: Call) -> RemotingCommand:
        return answer(msgId="0A", queueId=0, queueOffset=0)

    lab.answers[RequestCode.SEND_REPLY_MESSAGE] = stored
    reply = create_reply_message(received_request(CLUSTER="c"), "pong")
    lab.carrier.run(lab.started(smart_send=False).send(reply))
    assert lab.carrier.calls[-1].command.ext_fields["topic"] == "c_REPLY_TOPIC"


def test_message_that_no_broker_passed_on_has_no_reply() -> None:
    with pytest.raises(MQClientError) as caught:
        create_reply_message(order(), "pong")
    assert (str(caught.value), caught.value.code) == (
        "create reply message fail, requestMessage error, property[CLUSTER] is null.",
        10007,
    )


def received_request(**properties: str) -> Message:
    return order(properties=properties)
