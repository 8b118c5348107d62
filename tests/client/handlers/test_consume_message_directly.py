"""CONSUME_MESSAGE_DIRECTLY at a client."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fakemq.client.consuming.received import (
    RECONSUME_LATER,
    ConsumeResult,
    ConsumeStatus,
    ReceivedMessage,
)
from fakemq.client.consuming.requests import WAITING_MAX
from fakemq.protocol.bodies.consumer import CMResult, ConsumeMessageDirectlyResult
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.client import ConsumeMessageDirectlyResultRequestHeader
from tests.support.played_broker import CLIENT, GROUP, PlayedBroker
from tests.support.push_lab import PushLab, React
from tests.support.scripted_operation import A


def record(topic: str = "orders", retry_topic: str = "") -> bytes:
    broker = PlayedBroker()
    broker.put(b"directly", topic=topic, RETRY_TOPIC=retry_topic)
    return broker.messages[broker.queue(0, topic)][0]


def ask(lab: PushLab, body: bytes, group: str = GROUP) -> RemotingCommand:
    header = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group=group, client_id=CLIENT, broker_name="a"
    )
    code = RequestCode.CONSUME_MESSAGE_DIRECTLY
    lab.carrier.push(A, RemotingCommand(code, ext_fields=header.encode(), body=body))
    return lab.carrier.received[-1].answer


def consume(react: React | None = None, **settings: object) -> ConsumeMessageDirectlyResult:
    lab = PushLab(PlayedBroker(), react, **settings).start()
    answer = ask(lab, record())
    assert answer.code == ResponseCode.SUCCESS
    assert lab.consumed == [b"directly"]
    assert lab.broker.sent_back == []
    assert lab.broker.committed() in (None, 0)
    return ConsumeMessageDirectlyResult.decode(answer.body)


def fail(_: Sequence[ReceivedMessage]) -> None:
    raise ValueError("no")


def later(messages: Sequence[ReceivedMessage]) -> None:
    messages[0].retry_later()


@pytest.mark.parametrize(
    ("react", "result"),
    [
        (None, CMResult.CR_SUCCESS),
        (later, CMResult.CR_LATER),
        (lambda _: RECONSUME_LATER, CMResult.CR_LATER),
        (lambda _: ConsumeResult(ConsumeStatus.COMMIT), CMResult.CR_COMMIT),
        (lambda _: ConsumeResult(ConsumeStatus.ROLLBACK), CMResult.CR_ROLLBACK),
    ],
)
def test_result_of_the_listener_is_returned(react: React | None, result: CMResult) -> None:
    found = consume(react)
    assert (found.consume_result, found.order, found.auto_commit) == (result, False, True)
    assert found.remark is None


def test_error_of_the_listener_is_described() -> None:
    found = consume(fail)
    assert found.consume_result == CMResult.CR_THROW_EXCEPTION
    assert found.remark is not None
    assert found.remark.startswith("ValueError: no, ")
    assert found.remark.endswith(" in fail")


def test_ordered_consumer_says_so() -> None:
    found = consume(lambda _: ConsumeResult(auto_commit=False), ordered=True)
    assert (found.order, found.auto_commit) == (True, False)


def test_message_of_the_retry_topic_has_its_first_topic() -> None:
    lab = PushLab(PlayedBroker()).start()
    ask(lab, record("%RETRY%billing", "orders"))
    assert [one.topic for one in lab.messages] == ["orders"]
    assert [one.broker_name for one in lab.messages] == ["a"]


def test_body_is_written_as_java_writes_it() -> None:
    lab = PushLab(PlayedBroker()).start()
    assert ask(lab, record()).body == (
        b'{"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false,"spentTimeMills":0}'
    )


@pytest.mark.parametrize("body", [b"", b"\0" * 8, b"\xff" * 200])
def test_body_without_a_message_is_refused(body: bytes) -> None:
    lab = PushLab(PlayedBroker()).start()
    assert ask(lab, body).code == ResponseCode.SYSTEM_ERROR
    assert lab.consumed == []


def test_group_without_a_consumer_is_refused() -> None:
    lab = PushLab(PlayedBroker()).start()
    answer = ask(lab, record(), "others")
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == "The Consumer Group <others> not exist in this consumer"


def test_messages_that_wait_for_the_listener_are_limited() -> None:
    lab = PushLab(PlayedBroker()).start()
    lab.carrier.performs_at_once = False
    header = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group=GROUP, client_id=CLIENT, broker_name="a"
    )
    fields, code = header.encode(), RequestCode.CONSUME_MESSAGE_DIRECTLY
    for _ in range(WAITING_MAX + 1):
        lab.carrier.push(A, RemotingCommand(code, ext_fields=fields, body=record()))
    assert len(lab.carrier.performing) == WAITING_MAX
    assert [one.answer.code for one in lab.carrier.received] == [ResponseCode.SYSTEM_BUSY]
    while lab.carrier.performing:
        lab.carrier.perform_next()
    answers = [one.answer.code for one in lab.carrier.received[1:]]
    assert answers == [ResponseCode.SUCCESS] * WAITING_MAX
