"""UPDATE_CONSUMER_OFFSET: any offset is committed, smaller ones too."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.events import OffsetCommitted
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.offset import UpdateConsumerOffsetRequestHeader
from tests.support.peer import Peer


def header(offset: int) -> UpdateConsumerOffsetRequestHeader:
    return UpdateConsumerOffsetRequestHeader(
        consumer_group="g", topic="orders", queue_id=2, commit_offset=offset
    )


def test_smaller_offset_is_accepted_too(broker: Broker, peer: Peer) -> None:
    for offset in (9, 4):
        response = peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header(offset))
        assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
        assert broker.offsets.query("g", "orders", 2) == offset
    assert [event.offset for event in broker.journal.find(OffsetCommitted)] == [9, 4]


def test_clients_commit_one_way(broker: Broker, peer: Peer) -> None:
    peer.oneway(RequestCode.UPDATE_CONSUMER_OFFSET, header(3))
    assert broker.offsets.query("g", "orders", 2) == 3


def test_missing_offset_is_a_null_pointer_exception(peer: Peer) -> None:
    response = peer.ask(
        RequestCode.UPDATE_CONSUMER_OFFSET,
        ext_fields={"consumerGroup": "g", "topic": "orders", "queueId": "0"},
    )
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert (response.remark or "").startswith("java.lang.NullPointerException: ")


def test_absent_topic_and_group_are_called_null(broker: Broker, peer: Peer) -> None:
    fields = {"queueId": "0", "commitOffset": "7"}
    assert peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext_fields=fields).code == 0
    assert broker.offsets.query("null", "null", 0) == 7
    asked = peer.ask(RequestCode.QUERY_CONSUMER_OFFSET, ext_fields={"queueId": "0"})
    assert (asked.code, asked.ext_fields) == (0, {"offset": "7"})
