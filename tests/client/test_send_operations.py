"""What a producer sends: headers, queues, retries, limits, compression."""

from __future__ import annotations

import zlib

import pytest

from fakemq.client.errors import (
    MQBrokerError,
    MQClientError,
    RemotingConnectError,
    RemotingTimeoutError,
    RemotingTooMuchRequestError,
)
from fakemq.client.messages import Message, SendStatus
from fakemq.client.send_operations import RETRY_RESPONSE_CODES, SendOperations
from fakemq.protocol.batch import decode_batch
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import SendMessageRequestHeader, SendMessageRequestHeaderV2
from fakemq.protocol.properties import decode_properties
from tests.support.scripted_operation import A, B, ScriptedOperation, answer, client, queue, sent
from tests.support.time import START_MS, ManualTime


def test_send_has_the_fields_of_a_4_9_7_producer() -> None:
    producer = SendOperations(client("a"))
    message = Message("orders", "body", tags="t", keys="k1 k2", flag=3)
    play = ScriptedOperation(producer.send(message, queue=queue("a", 1)), sent(1, 42))
    call = play.calls[0]
    assert (call.addr, call.command.code, call.timeout_ms) == (A, 310, 3000)
    header = SendMessageRequestHeaderV2.decode(call.command.ext_fields)
    assert header == SendMessageRequestHeaderV2(
        producer_group="DEFAULT_PRODUCER",
        topic="orders",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=1,
        sys_flag=0,
        born_timestamp=START_MS,
        flag=3,
        properties=header.properties,
        reconsume_times=0,
        bname="a",
    )
    assert decode_properties(header.properties or "") == {
        "UNIQ_KEY": message.unique_id,
        "WAIT": "true",
        "TAGS": "t",
        "KEYS": "k1 k2",
    }
    result = play.result
    assert result.status is SendStatus.SEND_OK
    assert (result.queue, result.queue_offset) == (queue("a", 1), 42)
    assert (result.msg_id, result.offset_msg_id) == (message.unique_id, "0A")
    assert result.region_id == "DefaultRegion"


def test_long_header_is_sent_without_smart_send() -> None:
    play = ScriptedOperation(
        SendOperations(client("a", smart_send=False)).send(Message("orders", "x")), sent()
    )
    assert play.codes == [RequestCode.SEND_MESSAGE]
    assert SendMessageRequestHeader.decode(play.calls[0].command.ext_fields).topic == "orders"


def test_messages_go_to_queues_in_turn() -> None:
    producer = SendOperations(client("a", "b"))
    plays = [ScriptedOperation(producer.send(Message("orders", "x")), sent()) for _ in range(4)]
    places = [
        (play.addrs[0], SendMessageRequestHeaderV2.decode(play.calls[0].command.ext_fields))
        for play in plays
    ]
    assert {(addr, header.queue_id) for addr, header in places} == {
        (addr, queue_id) for addr in (A, B) for queue_id in (0, 1)
    }


@pytest.mark.parametrize("code", sorted(RETRY_RESPONSE_CODES))
def test_another_broker_is_tried_after_retryable_codes(code: int) -> None:
    play = ScriptedOperation(
        SendOperations(client("a", "b")).send(Message("orders", "x")), answer(code), sent()
    )
    assert set(play.addrs) == {A, B}
    assert play.result.status is SendStatus.SEND_OK


@pytest.mark.parametrize("code", [2, 13, 215])
def test_other_codes_are_raised(code: int) -> None:
    with pytest.raises(MQBrokerError) as caught:
        ScriptedOperation(
            SendOperations(client("a", "b")).send(Message("orders", "x")), answer(code, remark="no")
        )
    assert (caught.value.code, caught.value.remark) == (code, "no")


def test_remoting_errors_are_retried_twice_and_then_raised() -> None:
    play = ScriptedOperation(SendOperations(client("a", "b")).send(Message("orders", "x")))
    play.answer(RemotingConnectError("x"))
    play.answer(RemotingTimeoutError("x", 1))
    with pytest.raises(MQClientError, match=r"Send \[3\] times, still failed") as caught:
        play.answer(RemotingConnectError("x"))
    assert caught.value.code == 10001
    assert play.addrs in ([A, B, A], [B, A, B])
    ids = {decode_properties(call.command.ext_fields["i"])["UNIQ_KEY"] for call in play.calls}
    assert len(ids) == 1, "a message keeps its id when it is sent again"


def test_all_attempts_share_one_time_limit() -> None:
    time = ManualTime()
    play = ScriptedOperation(
        SendOperations(client("a", "b", time=time)).send(Message("orders", "x"))
    )
    time.passed_ms = 2_000
    play.answer(RemotingTimeoutError("x", 2000))
    assert play.calls[1].timeout_ms == 1_000
    time.passed_ms = 3_001
    with pytest.raises(RemotingTooMuchRequestError, match="sendDefaultImpl call timeout"):
        play.answer(RemotingTimeoutError("x", 1000))


def test_send_to_a_chosen_queue_is_tried_once() -> None:
    with pytest.raises(RemotingConnectError):
        ScriptedOperation(
            SendOperations(client("a", "b")).send(Message("orders", "x"), queue=queue("a")),
            RemotingConnectError(A),
        )


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (10, SendStatus.FLUSH_DISK_TIMEOUT),
        (11, SendStatus.SLAVE_NOT_AVAILABLE),
        (12, SendStatus.FLUSH_SLAVE_TIMEOUT),
    ],
)
def test_message_stored_without_a_guarantee_is_a_result(code: int, status: SendStatus) -> None:
    response = sent()
    response.code = code
    assert (
        ScriptedOperation(
            SendOperations(client("a")).send(Message("orders", "x")), response
        ).result.status
        is status
    )


def test_batch_is_one_body_with_an_id_for_every_message() -> None:
    messages = [Message("orders", "x", tags="t"), Message("orders", "y", flag=2)]
    play = ScriptedOperation(SendOperations(client("a")).send_batch(messages), sent())
    command = play.calls[0].command
    assert (command.code, command.ext_fields["m"]) == (320, "true")
    assert decode_properties(command.ext_fields["i"]) == {"WAIT": "true"}
    members = decode_batch(command.body)
    assert [(one.body, one.flag) for one in members] == [(b"x", 0), (b"y", 2)]
    ids = [decode_properties(one.properties.decode())["UNIQ_KEY"] for one in members]
    assert play.result.msg_id == ",".join(ids)


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([], "give one at least"),
        ([Message("a", "x"), Message("b", "x")], "topic of the messages"),
        ([Message("a", "x", properties={"DELAY": "3"})], "TimeDelayLevel"),
        ([Message("%RETRY%g", "x")], "Retry Group"),
        ([Message("a", "x"), Message("a", "x", properties={"WAIT": "false"})], "waitStoreMsgOK"),
    ],
)
def test_mixed_batch_is_refused(messages: list[Message], text: str) -> None:
    with pytest.raises(MQClientError, match=text):
        ScriptedOperation(SendOperations(client("a")).send_batch(messages))


def test_one_way_send_waits_for_nothing() -> None:
    play = ScriptedOperation(SendOperations(client("a")).send_oneway(Message("orders", "x")), None)
    assert play.calls[0].command.is_oneway
    assert play.over


def test_large_body_is_compressed() -> None:
    body = b"a" * 4096
    play = ScriptedOperation(SendOperations(client("a")).send(Message("orders", body)), sent())
    command = play.calls[0].command
    assert zlib.decompress(command.body) == body
    assert command.ext_fields["f"] == str(0x301)


def test_retry_counts_are_in_the_header_and_the_properties() -> None:
    instance = client("a")
    counts = {"RECONSUME_TIME": "2", "MAX_RECONSUME_TIMES": "16"}
    message = Message("%RETRY%g", "x", properties=counts)
    play = ScriptedOperation(
        SendOperations(instance).send(message, queue=queue("a", 0, "%RETRY%g")), sent()
    )
    fields = play.calls[0].command.ext_fields
    assert (fields["j"], fields["l"]) == ("2", "16")
    # Java takes them out of the properties after it has encoded these.
    assert decode_properties(fields["i"]).items() >= counts.items()


def test_vip_port_is_two_below() -> None:
    play = ScriptedOperation(
        SendOperations(client("a", vip_channel=True)).send(Message("orders", "x")), sent()
    )
    assert play.addrs == ["a:10909"]


@pytest.mark.parametrize(
    ("message", "text", "code"),
    [
        (Message(" ", "x"), "blank", -1),
        (Message("orders", ""), "length is zero", 13),
        (Message("orders", b"x" * 11), "MAX: 10", 13),
    ],
)
def test_unsendable_message_is_refused_at_once(message: Message, text: str, code: int) -> None:
    with pytest.raises(MQClientError, match=text) as caught:
        ScriptedOperation(SendOperations(client("a", max_message_bytes=10)).send(message))
    assert caught.value.code == code


def test_sending_makes_the_client_a_producer() -> None:
    instance = client("a")
    ScriptedOperation(SendOperations(instance, "mine").send(Message("orders", "x")), sent())
    assert list(instance.producer_groups) == ["mine"]
