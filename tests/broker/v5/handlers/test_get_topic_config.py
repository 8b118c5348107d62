"""GET_TOPIC_CONFIG (351)."""

from __future__ import annotations

from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.peer import Peer


def test_topic_is_returned(peer: Peer) -> None:
    answer = peer.ask(RequestCode5.GET_TOPIC_CONFIG, ext_fields={"topic": "TBW102"})
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    config = TopicConfig.decode(answer.body)
    assert (config.topic_name, config.read_queue_nums, config.perm) == ("TBW102", 8, 7)


def test_topic_that_does_not_exist_is_refused(peer: Peer) -> None:
    answer = peer.ask(RequestCode5.GET_TOPIC_CONFIG, ext_fields={"topic": "none"})
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert answer.remark == "No topic in this broker. topic: none"
