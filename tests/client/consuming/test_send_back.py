"""What becomes of messages that failed, if their broker does not take them back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fakemq.client.consuming.received import ReceivedMessage
from fakemq.client.errors import RemotingConnectError
from fakemq.client.operation import Call
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.properties import decode_properties
from tests.support.played_broker import GROUP, PlayedBroker
from tests.support.push_lab import PushLab
from tests.support.scripted_carrier import Outcome
from tests.support.scripted_operation import answer


def fail(_: Sequence[ReceivedMessage]) -> None:
    raise ValueError("no")


def refuse(broker: PlayedBroker, *codes: int) -> None:
    for code in codes:
        broker.answers[code] = lambda _: answer(ResponseCode.SYSTEM_ERROR, remark="no")


def test_message_is_sent_to_the_retry_topic_if_its_broker_does_not_take_it() -> None:
    broker = PlayedBroker()
    refuse(broker, RequestCode.CONSUMER_SEND_MSG_BACK)
    lab = PushLab(broker, fail).start()
    lab.put(b"0", reconsume_times=2, tags="a", UNIQ_KEY="0A01", TRAN_MSG="true")
    ((header, body),) = broker.sent
    assert (header.topic, body) == (f"%RETRY%{GROUP}", b"0")
    assert header.producer_group == "CLIENT_INNER_PRODUCER"
    assert (header.reconsume_times, header.max_reconsume_times) == (3, 16)
    properties = decode_properties(header.properties or "")
    assert properties["DELAY"] == "5"
    assert properties["RETRY_TOPIC"] == "orders"
    assert properties["ORIGIN_MESSAGE_ID"] == "0A01"
    assert properties["UNIQ_KEY"] == "0A01"
    assert properties["TAGS"] == "a"
    # As Java's client writes them, beside the header's fields; a broker stores them.
    assert (properties["RECONSUME_TIME"], properties["MAX_RECONSUME_TIMES"]) == ("3", "16")
    assert {"MIN_OFFSET", "MAX_OFFSET"} < properties.keys()
    assert not {"TRAN_MSG", "WAIT"} & properties.keys()
    lab.carrier.run(lab.core.shutdown())
    assert broker.committed() == 1


def test_first_id_of_a_message_is_kept() -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.CONSUMER_SEND_MSG_BACK] = lambda call: RemotingConnectError(
        call.addr
    )
    PushLab(broker, fail).start().put(b"0", ORIGIN_MESSAGE_ID="0B02")
    ((header, _),) = broker.sent
    assert decode_properties(header.properties or "")["ORIGIN_MESSAGE_ID"] == "0B02"


def test_message_that_no_broker_takes_is_consumed_again_here() -> None:
    broker = PlayedBroker()
    refuse(broker, RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE_V2)
    lab = PushLab(broker, fail).start()
    lab.put(b"0")
    lab.put(b"1")
    lab.react = None
    lab.advance(4_999)
    assert lab.consumed == [b"0", b"1"]
    lab.carrier.run(lab.core.persist_offsets())
    assert broker.committed() == 0
    lab.advance(10_000)
    assert lab.consumed == [b"0", b"1", b"0", b"1"]
    assert [one.reconsume_times for one in lab.messages[2:]] == [1, 1]
    lab.carrier.run(lab.core.shutdown())
    assert broker.committed() == 2


def test_mark_of_a_message_that_is_consumed_again_is_gone() -> None:
    broker = PlayedBroker()
    refuse(broker, RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE_V2)
    lab = PushLab(broker, lambda messages: messages[0].retry_later()).start()
    lab.put(b"0")
    broker.answers.clear()
    lab.react = None
    lab.advance(10_000)
    assert (len(lab.consumed), broker.sent_back) == (2, [])


def test_queue_that_is_dropped_meanwhile_is_not_consumed_again() -> None:
    broker = PlayedBroker(queues=2)
    refuse(broker, RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.SEND_MESSAGE_V2)
    lab = PushLab(broker, fail).start()
    lab.put(b"0", queue_id=1)
    broker.members.append("10.0.0.9@1")
    lab.services.rebalance_soon()
    lab.advance(20_000)
    assert lab.consumed == [b"0"]


def fails_unexpectedly(call: Call) -> Outcome:
    raise ZeroDivisionError


def test_message_is_sent_to_the_retry_topic_after_an_error_that_none_expects(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.CONSUMER_SEND_MSG_BACK] = fails_unexpectedly
    lab = PushLab(broker, fail).start()
    lab.put(b"0")
    assert [body for _, body in broker.sent] == [b"0"]
    assert "sendMessageBack exception, group: billing" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert lab.core.is_idle


@pytest.mark.parametrize("ordered", [False, True])
def test_message_is_consumed_again_here_after_errors_that_none_expects(ordered: bool) -> None:
    broker = PlayedBroker()
    broker.answers[RequestCode.CONSUMER_SEND_MSG_BACK] = fails_unexpectedly
    broker.answers[RequestCode.SEND_MESSAGE_V2] = fails_unexpectedly
    lab = PushLab(broker, fail, ordered=ordered, max_reconsume_times=0).start()
    lab.put(b"0", b"1")
    lab.react = None
    lab.advance(10_000)
    assert lab.consumed == ([b"0", b"0", b"1"] if ordered else [b"0", b"1", b"0", b"1"])
    lab.carrier.run(lab.core.shutdown())
    assert broker.committed() == 2
