"""GET_MIN_OFFSET (31): the remark."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.peer import Peer


def test_remark_is_empty_or_the_text_of_an_exception(peer: Peer) -> None:
    answer = peer.ask(RequestCode.GET_MIN_OFFSET, ext_fields={"topic": "T", "queueId": "0"})
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, "")
    assert answer.ext_fields["offset"] == "0"
    answer = peer.ask(RequestCode.GET_MIN_OFFSET)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark == 'Cannot invoke "Object.hashCode()" because "key" is null'
