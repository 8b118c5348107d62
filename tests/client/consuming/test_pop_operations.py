"""What a client that pops sends, and how it reads the answers."""

from __future__ import annotations

import base64

import pytest

from fakemq.client.consuming.pop_operations import ALL_QUEUES, PopOperations
from fakemq.client.consuming.popped import PoppedMessage, PopStatus
from fakemq.client.errors import MQBrokerError, MQClientError, RemotingCommandError
from fakemq.protocol.bodies.pop import (
    BatchAckMessageRequestBody,
    MessageQueueAssignment,
    QueryAssignmentRequestBody,
    QueryAssignmentResponseBody,
    SetMessageRequestModeRequestBody,
)
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.message import encode_record
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.scripted_operation import A, B, ScriptedOperation, answer, client, queue
from tests.support.time import START_MS

HOST = ("127.0.0.1", 1)
POP_TIME, INVISIBLE = 1_000, 30_000


def record(
    queue_id: int, offset: int, properties: str = "", times: int = 0, *, sys_flag: int = 0
) -> bytes:
    return encode_record(
        "orders",
        b"body",
        properties,
        sys_flag=sys_flag,
        queue_id=queue_id,
        queue_offset=offset,
        reconsume_times=times,
        born_host=HOST,
        store_host=HOST,
    )


def found(*records: bytes, **fields: object) -> RemotingCommand:
    response = answer(
        0,
        body=b"".join(records),
        popTime=POP_TIME,
        invisibleTime=INVISIBLE,
        reviveQid=4,
        restNum=7,
        startOffsetInfo="0 0 3;0 1 9",
        msgOffsetInfo="0 0 3,5;0 1 9",
    )
    response.ext_fields |= {name: str(value) for name, value in fields.items()}
    return response


def operations() -> PopOperations:
    return PopOperations(client("a", "b"), "g")


def popped(*answers: RemotingCommand, order: bool = False) -> list[PoppedMessage]:
    operation = operations().pop(queue(queue_id=ALL_QUEUES), invisible_ms=INVISIBLE, order=order)
    return ScriptedOperation(operation, *answers).result.messages


def test_popped_message_that_cannot_be_unpacked_is_left_out() -> None:
    answer_of_two = found(record(0, 3, sys_flag=1), record(0, 5))
    assert [one.stored.queue_offset for one in popped(answer_of_two)] == [5]


def message(handle: str = f"3 {POP_TIME} {INVISIBLE} 4 0 a 0 5") -> PoppedMessage:
    (one,) = popped(found(record(0, 5, f"POP_CK\x01{handle}")))
    return one


# -- pops ---------------------------------------------------------------------------------------


def test_pop_has_the_fields_of_a_5_5_0_client() -> None:
    operation = operations().pop(
        queue(queue_id=ALL_QUEUES),
        invisible_ms=INVISIBLE,
        max_messages=8,
        poll_ms=15_000,
        order=True,
        attempt_id="one",
    )
    play = ScriptedOperation(operation, answer(210))
    (call,) = play.calls
    assert (call.addr, call.command.code, call.timeout_ms) == (A, RequestCode5.POP_MESSAGE, 25_000)
    assert call.command.ext_fields == {
        "bname": "a",
        "consumerGroup": "g",
        "topic": "orders",
        "queueId": "-1",
        "maxMsgNums": "8",
        "invisibleTime": "30000",
        "pollTime": "15000",
        "bornTime": str(START_MS),
        "initMode": "1",
        "expType": "TAG",
        "exp": "*",
        "order": "true",
        "attemptId": "one",
    }
    assert play.result.status is PopStatus.POLLING_NOT_FOUND
    assert play.result.messages == []


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (209, PopStatus.POLLING_FULL),
        (210, PopStatus.POLLING_NOT_FOUND),
        (19, PopStatus.POLLING_NOT_FOUND),
    ],
)
def test_pop_without_a_message_says_why(code: int, status: PopStatus) -> None:
    operation = operations().pop(queue(), invisible_ms=INVISIBLE)
    result = ScriptedOperation(operation, answer(code, restNum=3)).result
    assert (result.status, result.messages, result.rest) == (status, [], 3)


def test_pop_that_is_refused_is_an_error() -> None:
    with pytest.raises(MQBrokerError, match=r"NO_PERMISSION \(16\)"):
        popped(answer(16, remark="no"))


def test_message_gets_the_handle_that_a_java_client_makes() -> None:
    one, two, three = popped(
        found(
            record(0, 3),
            record(1, 9),
            record(2, 0, f"POP_CK\x010 {POP_TIME} {INVISIBLE} 4 1 a 2 0", times=2),
        )
    )
    assert one.handle == f"3 {POP_TIME} {INVISIBLE} 4 0 a 0 3"
    assert two.handle == f"9 {POP_TIME} {INVISIBLE} 4 0 a 1 9"
    assert three.place("g") == ("%RETRY%g_orders", 2, 0)
    assert two.place("g") == ("orders", 1, 9)
    assert [each.reconsume_times for each in (one, two, three)] == [0, 0, 2]


def test_message_in_order_has_the_count_of_the_answer() -> None:
    fields = {"orderCountInfo": "0 0 0;0 qo0%5 3;0 1 2"}
    messages = [record(0, 3), record(0, 5), record(1, 9)]
    in_order = popped(found(*messages, **fields), order=True)
    assert [one.reconsume_times for one in in_order] == [0, 3, 2]
    assert [one.reconsume_times for one in popped(found(*messages, **fields))] == [0, 0, 0]


@pytest.mark.parametrize(
    "hostile",
    [
        found(record(2, 0)),
        found(record(0, 3), startOffsetInfo="0 0"),
        found(record(0, 3), startOffsetInfo="0 0 3;0 0 3"),
        found(record(0, 3), startOffsetInfo="0 0 x"),
        found(b"\x00\x00\x00\x09nonsense"),
    ],
)
def test_answer_that_cannot_be_read_is_an_error(hostile: RemotingCommand) -> None:
    with pytest.raises(RemotingCommandError):
        popped(hostile)


@pytest.mark.parametrize(
    "handle",
    [
        *("nonsense", "3 1 1 4 7 a 0 3", "3 1 1 4 0 a 0 x", "3 -1 1 4 0 a 0 3"),
        *("4 1 1 4 0 a 0 3", f"3 1 1 4 0 a 0 {1 << 70}"),
    ],
)
def test_message_with_a_wrong_handle_comes_with_the_others_and_cannot_be_acknowledged(
    handle: str,
) -> None:
    good, bad = popped(found(record(0, 3), record(0, 5, f"POP_CK\x01{handle}")))
    assert good.place("g") == ("orders", 0, 3)
    refused = "is no receipt handle of a pop"
    for operation in (
        operations().ack(bad),
        operations().ack_batch([good, bad]),
        operations().change_invisible_time(bad, 9_000),
    ):
        with pytest.raises(MQClientError, match=refused):
            ScriptedOperation(operation)


@pytest.mark.parametrize("infos", ["0 qo0%3", "0 0 many"])
def test_counts_that_cannot_be_read_are_an_error(infos: str) -> None:
    with pytest.raises(RemotingCommandError):
        popped(found(record(0, 3), orderCountInfo=infos), order=True)


def test_notification_says_whether_there_is_a_message() -> None:
    operation = operations().notification(queue(), poll_ms=5_000, order=True, attempt_id="one")
    play = ScriptedOperation(operation, answer(0, hasMsg="true"))
    (call,) = play.calls
    assert (call.addr, call.command.code, call.timeout_ms) == (A, RequestCode5.NOTIFICATION, 15_000)
    assert call.command.ext_fields["attemptId"] == "one"
    assert play.result is True


# -- receipts -----------------------------------------------------------------------------------


def test_acknowledgement_names_queue_and_offset_of_the_handle() -> None:
    play = ScriptedOperation(
        operations().ack(message(f"3 {POP_TIME} {INVISIBLE} 4 1 b 0 5")), answer()
    )
    (call,) = play.calls
    assert (call.addr, call.command.code) == (A, RequestCode5.ACK_MESSAGE)
    assert call.command.ext_fields == {
        "bname": "a",
        "consumerGroup": "g",
        "topic": "%RETRY%g_orders",
        "queueId": "0",
        "extraInfo": f"3 {POP_TIME} {INVISIBLE} 4 1 b 0 5",
        "offset": "5",
    }


def test_acknowledgements_of_several_pops_are_one_request() -> None:
    tail = f"{POP_TIME} {INVISIBLE} 4 0 a"
    messages = [message(f"{start} {tail} 0 {at}") for start, at in ((3, 3), (3, 12), (20, 20))]
    play = ScriptedOperation(operations().ack_batch(messages), answer())
    (call,) = play.calls
    assert (call.addr, call.command.code) == (A, RequestCode5.BATCH_ACK_MESSAGE)
    body = BatchAckMessageRequestBody.decode(call.command.body)
    assert body.broker_name == "a"
    assert body.acks is not None
    first, second = body.acks
    assert (first.group, first.topic, first.retry, first.queue_id) == ("g", "orders", "0", 0)
    assert (first.pop_time, first.invisible_time, first.revive_queue_id) == (POP_TIME, INVISIBLE, 4)
    assert base64.b64decode(first.bit_set or "") == bytes([0b1, 0b10])
    assert [*first.offsets(0, 99), *second.offsets(0, 99)] == [3, 12, 20]


def test_pops_of_two_topics_at_one_time_are_acknowledged_apart() -> None:
    one, other = message(), message()
    other.stored.topic = "bills"
    play = ScriptedOperation(operations().ack_batch([one, other]), answer())
    body = BatchAckMessageRequestBody.decode(play.calls[0].command.body)
    acked = [(ack.topic, [*ack.offsets(0, 99)]) for ack in body.acks or ()]
    assert acked == [("orders", [5]), ("bills", [5])]


def test_no_acknowledgement_is_no_request() -> None:
    assert list(operations().ack_batch([])) == []


def test_handle_that_no_pop_has_is_refused() -> None:
    far = message(f"3 {POP_TIME} {INVISIBLE} 4 0 a 0 {1 << 40}")
    with pytest.raises(MQClientError, match="is no receipt handle of a pop"):
        ScriptedOperation(operations().ack_batch([far]))


def test_change_of_the_invisible_time_replaces_the_handle() -> None:
    one = message()
    changed = answer(0, popTime=2_000, invisibleTime=9_000, reviveQid=4)
    play = ScriptedOperation(operations().change_invisible_time(one, 9_000, suspend=True), changed)
    (call,) = play.calls
    assert (call.addr, call.command.code) == (A, RequestCode5.CHANGE_MESSAGE_INVISIBLETIME)
    fields = call.command.ext_fields
    assert (fields["offset"], fields["invisibleTime"], fields["suspend"]) == ("5", "9000", "true")
    assert one.handle == "5 2000 9000 4 0 a 0 5"


def test_change_that_is_refused_keeps_the_handle() -> None:
    one = message()
    before = one.handle
    with pytest.raises(MQBrokerError, match=r"NO_MESSAGE \(208\)"):
        ScriptedOperation(operations().change_invisible_time(one, 9_000), answer(208))
    assert one.handle == before


# -- queues -------------------------------------------------------------------------------------


def test_assignment_is_what_a_broker_of_the_topic_says() -> None:
    wanted = [MessageQueueAssignment(message_queue=queue(queue_id=-1), mode="POP")]
    body = QueryAssignmentResponseBody(message_queue_assignments=wanted)
    operation = operations().assignment("orders")
    play = ScriptedOperation(operation, answer(0, body=body))
    (call,) = play.calls
    assert call.addr in (A, B)
    assert call.command.code == RequestCode5.QUERY_ASSIGNMENT
    asked = QueryAssignmentRequestBody.decode(call.command.body)
    assert (asked.topic, asked.consumer_group, asked.strategy_name) == ("orders", "g", "AVG")
    assert asked.client_id == client().client_id
    assert play.result == wanted


def test_assignment_may_say_that_nothing_changes() -> None:
    operation = operations().assignment("orders")
    body = QueryAssignmentResponseBody(message_queue_assignments=None)
    assert ScriptedOperation(operation, answer(0, body=body)).result is None


def test_mode_is_set_at_every_master() -> None:
    play = ScriptedOperation(
        operations().set_mode("orders", "POP", share_queue_num=2), answer(), answer()
    )
    assert sorted(play.addrs) == [A, B]
    for call in play.calls:
        assert call.command.code == RequestCode5.SET_MESSAGE_REQUEST_MODE
        body = SetMessageRequestModeRequestBody.decode(call.command.body)
        assert (body.topic, body.consumer_group, body.mode) == ("orders", "g", "POP")
        assert body.pop_share_queue_num == 2
