"""GET_ALL_CONSUMER_OFFSET: every committed offset as JSON."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.peer import Peer


def test_offsets_have_unquoted_queue_ids_as_keys(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("g", "orders", 0, 3)
    broker.offsets.commit("g", "orders", 1, 0)
    response = peer.ask(RequestCode.GET_ALL_CONSUMER_OFFSET)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    assert response.body == b'{"offsetTable":{"orders@g":{0:3,1:0}}}'


def test_offsets_are_an_empty_table_when_none_is_committed(peer: Peer) -> None:
    assert peer.ask(RequestCode.GET_ALL_CONSUMER_OFFSET).body == b'{"offsetTable":{}}'
