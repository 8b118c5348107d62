"""CLONE_GROUP_OFFSET: whose offsets are copied, and when none are."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.clients import GROUP, TOPIC
from tests.support.peer import Peer

COPY = "copy"


@pytest.fixture(autouse=True)
def topics(broker: Broker) -> None:
    for topic in (TOPIC, "other"):
        broker.create_topic(topic, 2)
        for queue_id in range(2):
            broker.offsets.commit(GROUP, topic, queue_id, 3 + queue_id)


def clone(peer: Peer, **more: str) -> None:
    fields = {"srcGroup": GROUP, "destGroup": COPY, "topic": TOPIC, "offline": "false"} | more
    response = peer.ask(RequestCode.CLONE_GROUP_OFFSET, ext_fields=fields)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)


def offsets(broker: Broker, topic: str = TOPIC) -> dict[int, int]:
    return dict(broker.offsets.snapshot().get(f"{topic}@{COPY}", {}))


def test_cloned_offsets_replace_those_of_the_target(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit(COPY, TOPIC, 5, 9)
    clone(peer)
    assert offsets(broker) == {0: 3, 1: 4}
    assert offsets(broker, "other") == {}
    broker.offsets.commit(GROUP, TOPIC, 0, 8)
    assert offsets(broker) == {0: 3, 1: 4}, "a copy"


def test_group_can_be_cloned_onto_itself(broker: Broker, peer: Peer) -> None:
    clone(peer, destGroup=GROUP)
    assert broker.offsets.snapshot()[f"{TOPIC}@{GROUP}"] == {0: 3, 1: 4}


def test_unknown_topic_or_group_clones_nothing(broker: Broker, peer: Peer) -> None:
    broker.topics.delete(TOPIC)
    clone(peer)
    clone(peer, topic="other", srcGroup="absent")
    assert offsets(broker) == offsets(broker, "other") == {}
