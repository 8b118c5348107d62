"""GET_TOPIC_STATS_INFO (202)."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from tests.support.peer import Peer


def test_topic_stats_say_how_many_messages_come(peer: Peer) -> None:
    answer = peer.ask(RequestCode.GET_TOPIC_STATS_INFO, ext_fields={"topic": "TBW102"})
    assert b'"topicPutTps":0.0' in answer.body
