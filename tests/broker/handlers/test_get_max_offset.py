"""GET_MAX_OFFSET: the offset that the next message of a queue gets."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.offset import GetMaxOffsetRequestHeader
from tests.support.broker_lab import Send
from tests.support.peer import Peer


def ask(peer: Peer, topic: str = "orders") -> tuple[int, dict[str, str]]:
    header = GetMaxOffsetRequestHeader(topic=topic, queue_id=0)
    response = peer.ask(RequestCode.GET_MAX_OFFSET, header)
    return response.code, response.ext_fields


def test_max_offset_is_that_of_the_next_message(peer: Peer, send: Send) -> None:
    send()
    send()
    assert ask(peer) == (ResponseCode.SUCCESS, {"offset": "2"})


def test_max_offset_is_0_when_the_queue_does_not_exist(peer: Peer) -> None:
    assert ask(peer, "unknown") == (ResponseCode.SUCCESS, {"offset": "0"})
