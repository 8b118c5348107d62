"""DELETE_TOPIC_IN_BROKER (215): what goes with a topic."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.pop import pop_retry_topic
from fakemq.protocol.v5.codes import ResponseCode5
from tests.support.clients import GROUP, TOPIC
from tests.support.peer import Peer


def test_offsets_and_retry_topics_of_pop_go_with_a_topic(broker: Broker, peer: Peer) -> None:
    retry = pop_retry_topic(TOPIC, GROUP, v2=False)
    for topic in (TOPIC, retry, "other"):
        broker.create_topic(topic, 1)
        broker.offsets.commit(GROUP, topic, 0, 7)
    answer = peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, ext_fields={"topic": TOPIC})
    assert answer.code == ResponseCode.SUCCESS
    assert broker.topics.select(TOPIC) is broker.topics.select(retry) is None
    offsets = [broker.offsets.query(GROUP, topic, 0) for topic in (TOPIC, retry, "other")]
    assert offsets == [-1, -1, 7]


@pytest.mark.parametrize("topic", ["", "TBW102"])
def test_topic_that_no_request_may_delete_is_refused(peer: Peer, topic: str) -> None:
    answer = peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, ext_fields={"topic": topic})
    assert answer.code == ResponseCode5.INVALID_PARAMETER
