"""GET_ALL_CONSUMER_OFFSET: every committed offset as JSON."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.peer import Peer


def test_all_offsets_come_with_bare_queue_ids_as_keys(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("g", "orders", 0, 3)
    broker.offsets.commit("g", "orders", 1, 0)
    response = peer.ask(RequestCode.GET_ALL_CONSUMER_OFFSET)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    assert response.body == b'{"offsetTable":{"orders@g":{0:3,1:0}}}'


def test_no_offsets_are_an_empty_table(peer: Peer) -> None:
    assert peer.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).body == b'{"offsetTable":{}}'
