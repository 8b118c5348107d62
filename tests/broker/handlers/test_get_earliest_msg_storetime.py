"""GET_EARLIEST_MSG_STORETIME: when the first message of a queue was stored."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.offset import GetEarliestMsgStoretimeRequestHeader
from tests.support.broker_lab import BrokerLab, Send
from tests.support.peer import Peer
from tests.support.time import START_MS

HEADER = GetEarliestMsgStoretimeRequestHeader(topic="orders", queue_id=0)


def test_store_time_of_the_first_message_is_returned(
    lab: BrokerLab, peer: Peer, send: Send
) -> None:
    send()
    lab.clock.advance("5s")
    send()
    response = peer.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, HEADER)
    assert response.ext_fields == {"timestamp": str(START_MS)}


def test_minus_1_is_returned_when_the_queue_has_no_message(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_EARLIEST_MSG_STORETIME, HEADER)
    assert response.ext_fields == {"timestamp": "-1"}
