"""GET_MIN_OFFSET: the first offset of a queue whose record is still in the log."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.offset import GetMinOffsetRequestHeader
from tests.support.broker_lab import Send
from tests.support.peer import Peer


def ask(peer: Peer, topic: str) -> tuple[int, dict[str, str]]:
    header = GetMinOffsetRequestHeader(topic=topic, queue_id=0)
    response = peer.ask(RequestCode.GET_MIN_OFFSET, header)
    return response.code, response.ext_fields


def test_min_offset_is_0_until_a_file_is_deleted(peer: Peer, send: Send) -> None:
    send()
    assert ask(peer, "orders") == (ResponseCode.SUCCESS, {"offset": "0"})


def test_min_offset_of_an_unknown_queue_is_0(peer: Peer) -> None:
    assert ask(peer, "unknown") == (ResponseCode.SUCCESS, {"offset": "0"})
