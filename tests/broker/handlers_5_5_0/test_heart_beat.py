"""HEART_BEAT (34), answered as 5.5.0 does."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import ResponseCode
from tests.support.clients import GROUP, consume
from tests.support.peer import Peer


def test_answer_says_what_heartbeats_may_leave_out(broker: Broker, peer: Peer) -> None:
    response = consume(peer)
    assert response.code == ResponseCode.SUCCESS
    assert response.ext_fields == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}
    assert [member.client_id for member in broker.consumers.members(GROUP)]
