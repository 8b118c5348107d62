"""SEND_MESSAGE_V2: what is stored, what is answered, what is refused."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.events import HandlerFailed, LogAppended, MessageChecked
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import Send, send_header
from tests.support.peer import Peer


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


def test_topic_without_queues_fails_the_random_choice(broker: Broker, send: Send) -> None:
    broker.create_topic("empty", 0)
    response = send(topic="empty", queue_id=-1)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith("java.lang.ArithmeticException: / by zero,")
    assert not broker.journal.find(HandlerFailed)


def test_delay_level_0_is_no_delay(send: Send) -> None:
    assert send(properties="DELAY\x010").code == ResponseCode.SUCCESS
