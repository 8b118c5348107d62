"""LITE_PULL_MESSAGE: the flags of topic and group in answers, at once and held."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.clients import TOPIC, consume, pull_header, send
from tests.support.peer import Peer

HELD = PullSysFlag.SUSPEND | PullSysFlag.SUBSCRIPTION


def test_answers_have_the_flags_of_topic_and_group(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    consume(peer)
    held = peer.send(RequestCode.LITE_PULL_MESSAGE, pull_header(0, sys_flag=HELD))
    assert not held.over
    send(peer)
    assert held.response is not None
    again = peer.ask(RequestCode.LITE_PULL_MESSAGE, pull_header(0))
    for answer in (held.response, again):
        assert answer.code == ResponseCode.SUCCESS
        assert answer.ext_fields["topicSysFlag"] == answer.ext_fields["groupSysFlag"] == "0"
