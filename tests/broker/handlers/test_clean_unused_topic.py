"""CLEAN_UNUSED_TOPIC: queues without a topic config are deleted."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import Send
from tests.support.peer import Peer


def test_queues_without_a_topic_config_are_deleted(broker: Broker, peer: Peer, send: Send) -> None:
    send(topic="kept")
    send(topic="dropped")
    broker.topics.delete("dropped")
    response = peer.ask(RequestCode.CLEAN_UNUSED_TOPIC)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    assert sum(broker.store.max_offset_in_queue("kept", queue) for queue in range(4)) == 1
    assert sum(broker.store.max_offset_in_queue("dropped", queue) for queue in range(4)) == 0


def test_second_clean_changes_nothing(peer: Peer) -> None:
    for _ in range(2):
        assert peer.ask(RequestCode.CLEAN_UNUSED_TOPIC).code == ResponseCode.SUCCESS
