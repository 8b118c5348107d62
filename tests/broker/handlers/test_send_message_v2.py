"""SEND_MESSAGE_V2: what is stored, what is answered, what is refused."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.events import HandlerFailed, LogAppended, MessageChecked
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import Send, send_header
from tests.support.peer import Peer

FAQ = "\nSee http://rocketmq.apache.org/docs/faq/ for further details."


def test_offsets_count_up_per_queue(send: Send) -> None:
    offsets = [send(queue_id=queue).ext_fields["queueOffset"] for queue in (0, 0, 1, 0)]
    assert offsets == ["0", "1", "0", "2"]


def test_oneway_send_is_stored_and_not_answered(broker: Broker, peer: Peer) -> None:
    peer.oneway(RequestCode.SEND_MESSAGE_V2, send_header(), b"x")
    assert broker.store.max_offset_in_queue("orders", 0) == 1
    assert peer.requests == []


def test_negative_queue_id_chooses_any_queue(broker: Broker, send: Send) -> None:
    queues = {send(queue_id=-1).ext_fields["queueId"] for _ in range(40)}
    assert queues == {"0", "1", "2", "3"}


def test_checks_run_before_the_message_is_logged(broker: Broker, send: Send) -> None:
    send(queue_id=2)
    assert [
        type(entry.event)
        for entry in broker.journal
        if isinstance(entry.event, MessageChecked | LogAppended)
    ] == [MessageChecked, LogAppended]


def test_invalid_number_is_a_number_format_exception(peer: Peer) -> None:
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, ext_fields={"b": "orders", "e": "x"})
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith(
        'java.lang.NumberFormatException: For input string: "x"'
    )


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        (" ", "The specified topic is blank."),
        (
            "a b",
            "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        ("t" * 128, "The specified topic is longer than topic max length."),
    ],
)
def test_topic_name_must_be_valid(send: Send, topic: str, remark: str) -> None:
    response = send(topic=topic)
    assert (response.code, response.remark) == (ResponseCode.SYSTEM_ERROR, remark)
    assert response.ext_fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def test_system_topics_are_refused(send: Send) -> None:
    response = send(topic="SCHEDULE_TOPIC_XXXX")
    assert response.code == ResponseCode.NO_PERMISSION
    assert response.remark == "Sending message to topic[SCHEDULE_TOPIC_XXXX] is forbidden."


def test_unknown_topic_without_a_model_is_refused(send: Send) -> None:
    response = send(default_topic="nothing")
    assert response.code == ResponseCode.TOPIC_NOT_EXIST
    assert response.remark == f"topic[orders] not exist, apply first please!{FAQ}"


def test_queue_beyond_the_topic_is_refused_with_the_topic_printed(peer: Peer) -> None:
    response = peer.ask(RequestCode.SEND_MESSAGE_V2, send_header(queue_id=4), b"x")
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark == (
        "request queueId[4] is illegal, TopicConfig [topicName=orders, readQueueNums=4,"
        " writeQueueNums=4, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false]"
        f" Producer: {peer.session.link.local_addr}"
    )


def test_topic_without_queues_fails_the_random_choice(broker: Broker, send: Send) -> None:
    broker.create_topic("empty", 0)
    response = send(topic="empty", queue_id=-1)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith("java.lang.ArithmeticException: / by zero,")
    assert not broker.journal.find(HandlerFailed)


@pytest.mark.parametrize("sends", [{"body": b"x" * (4 * 1024 * 1024 + 1)}])
def test_oversized_message_is_refused(send: Send, sends: dict[str, bytes]) -> None:
    response = send(**sends)
    assert response.code == ResponseCode.MESSAGE_ILLEGAL
    assert response.remark == (
        "the message is illegal, maybe msg body or properties length not matched."
        " msg body length limit 4194304B, msg properties length limit 32KB."
    )


def test_oversized_properties_are_refused(send: Send) -> None:
    response = send(properties="KEYS\x01" + "k" * 32768)
    assert response.code == ResponseCode.MESSAGE_ILLEGAL


def test_delay_level_0_is_no_delay(send: Send) -> None:
    assert send(properties="DELAY\x010").code == ResponseCode.SUCCESS
