"""QUERY_CONSUMER_OFFSET (14): where a group begins that never committed."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.clients import GROUP, TOPIC, send
from tests.support.peer import Peer

FIELDS = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "0"}


def test_group_begins_at_0_once_there_is_a_message(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    code = RequestCode.QUERY_CONSUMER_OFFSET
    assert peer.ask(code, ext_fields=FIELDS).code == ResponseCode.QUERY_NOT_FOUND
    send(peer)
    answer = peer.ask(code, ext_fields=FIELDS)
    assert (answer.code, answer.ext_fields["offset"]) == (ResponseCode.SUCCESS, "0")
    answer = peer.ask(code, ext_fields={**FIELDS, "setZeroIfNotFound": "false"})
    assert answer.code == ResponseCode.QUERY_NOT_FOUND
    assert answer.remark == "Not found, do not set to zero, maybe this group boot first"
