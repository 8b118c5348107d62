"""SEND_MESSAGE: the long header, and answers in the request's own serialisation."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import SerializeType
from fakemq.protocol.headers.send import SendMessageResponseHeader
from tests.support.broker_lab import send_header, v1
from tests.support.peer import Peer

MARKS = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


def test_message_is_stored_and_answered(broker: Broker, peer: Peer) -> None:
    response = peer.ask(RequestCode.SEND_MESSAGE, v1(send_header()), b"hello")
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    header = SendMessageResponseHeader.decode(response.ext_fields)
    assert (header.queue_id, header.queue_offset) == (0, 0)
    assert header.msg_id == "7F00000100002A9F0000000000000000"
    assert MARKS.items() <= response.ext_fields.items()
    assert broker.store.max_offset_in_queue("orders", 0) == 1


def test_encoded_batch_under_this_code_is_stored_as_one_message(broker: Broker, peer: Peer) -> None:
    body = b"\0\0\0\x19" + b"\0" * 21
    assert peer.ask(RequestCode.SEND_MESSAGE, v1(send_header()), body).code == ResponseCode.SUCCESS
    assert broker.store.max_offset_in_queue("orders", 0) == 1


def test_answer_has_the_serialisation_of_the_request(peer: Peer) -> None:
    response = peer.ask(
        RequestCode.SEND_MESSAGE, v1(send_header()), b"x", serialize_type=SerializeType.ROCKETMQ
    )
    assert response.serialize_type is SerializeType.ROCKETMQ
    assert response.ext_fields["queueOffset"] == "0"
