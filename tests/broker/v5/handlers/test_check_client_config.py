"""CHECK_CLIENT_CONFIG (46): a request without a body."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.peer import Peer


def test_request_without_a_body_succeeds(peer: Peer) -> None:
    answer = peer.ask(RequestCode.CHECK_CLIENT_CONFIG)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert peer.ask(RequestCode.CHECK_CLIENT_CONFIG, body=b"[1]").code == ResponseCode.SYSTEM_ERROR
