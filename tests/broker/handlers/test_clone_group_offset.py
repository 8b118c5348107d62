"""CLONE_GROUP_OFFSET: whose offsets are copied, and when none are."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.clients import GROUP, TOPIC, consume
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
    return broker.offsets.table().get(f"{topic}@{COPY}", {})


def test_what_was_there_is_replaced(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit(COPY, TOPIC, 5, 9)
    clone(peer)
    assert offsets(broker) == {0: 3, 1: 4}
    assert offsets(broker, "other") == {}
    broker.offsets.commit(GROUP, TOPIC, 0, 8)
    assert offsets(broker) == {0: 3, 1: 4}, "a copy"


def test_a_group_can_be_its_own_copy(broker: Broker, peer: Peer) -> None:
    clone(peer, destGroup=GROUP)
    assert broker.offsets.table()[f"{TOPIC}@{GROUP}"] == {0: 3, 1: 4}


def test_without_a_topic_nothing_is_cloned(broker: Broker, peer: Peer) -> None:
    clone(peer, topic="")
    peer.ask(RequestCode.CLONE_GROUP_OFFSET, ext_fields={"srcGroup": GROUP, "destGroup": COPY})
    assert offsets(broker) == offsets(broker, "other") == {}


def test_a_source_online_must_subscribe(broker: Broker, peer: Peer) -> None:
    consume(peer)
    clone(peer, topic="other")
    assert offsets(broker, "other") == {}
    clone(peer, topic="other", offline="true")
    assert offsets(broker, "other") == {0: 3, 1: 4}


def test_a_topic_or_offsets_that_are_not_here(broker: Broker, peer: Peer) -> None:
    broker.topics.delete(TOPIC)
    clone(peer)
    clone(peer, topic="other", srcGroup="nobody")
    assert offsets(broker) == offsets(broker, "other") == {}
