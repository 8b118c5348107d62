"""DELETE_TOPIC_IN_BROKER: what is gone, what stays, and what consumers see then."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.events import TopicChanged
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.topic import DeleteTopicRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, code, long_pull, pull, send
from tests.support.peer import Peer


def delete(peer: Peer, topic: str = TOPIC) -> RemotingCommand:
    return peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic=topic))


def test_config_and_queues_are_deleted_and_records_and_offsets_stay(
    broker: Broker, peer: Peer
) -> None:
    send(peer)
    broker.offsets.commit(GROUP, TOPIC, 0, 1)
    end, version = broker.store.max_phy_offset, broker.topics.data_version.counter
    response = delete(peer)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    assert broker.topics.select(TOPIC) is None
    assert broker.store.queue_ids(TOPIC) == []
    assert broker.store.max_phy_offset == end
    assert broker.offsets.query(GROUP, TOPIC, 0) == 1
    assert broker.topics.data_version.counter == version + 1
    assert [event.how for event in broker.journal.find(TopicChanged, topic=TOPIC)] == [
        "created",
        "deleted",
    ]


def test_name_servers_are_not_notified(lab: BrokerLab) -> None:
    name_server = lab.name_server("10.0.0.1:9876")
    broker = lab.broker(namesrv_addrs=("10.0.0.1:9876",))
    broker.create_topic(TOPIC, 1)
    lab.network.settle()
    name_server.requests.clear()
    delete(lab.peer(broker.addr))
    assert name_server.codes() == []


def test_recreated_topic_begins_at_offset_0(broker: Broker, peer: Peer) -> None:
    for _ in range(3):
        send(peer)
    delete(peer)
    assert pull(peer, 3).code == ResponseCode.TOPIC_NOT_EXIST
    broker.create_topic(TOPIC, 1)
    response = pull(peer, 3)
    assert response.code == ResponseCode.PULL_OFFSET_MOVED
    assert response.ext_fields["nextBeginOffset"] == "0"
    send(peer)
    response = pull(peer, 3)
    assert response.code == ResponseCode.PULL_OFFSET_MOVED
    assert response.ext_fields["nextBeginOffset"] == "1", "behind what there is"
    assert pull(peer).ext_fields["maxOffset"] == "1"


def test_held_pull_is_refused_at_its_time_out(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    send(peer)
    answer = long_pull(peer, 1)
    delete(peer)
    lab.clock.advance("14s")
    assert not answer.over
    lab.clock.advance("6s")
    assert code(answer) == ResponseCode.TOPIC_NOT_EXIST


def test_queues_of_other_topics_without_a_config_are_deleted_too(
    broker: Broker, peer: Peer
) -> None:
    send(peer, topic="other")
    broker.topics.delete("other")
    delete(peer)
    assert broker.store.queue_ids("other") == []


def test_only_the_queues_of_a_light_topic_are_deleted(broker: Broker, peer: Peer) -> None:
    send(peer, topic="%LMQ%light")
    assert delete(peer, "%LMQ%light").code == ResponseCode.SUCCESS
    assert broker.topics.select("%LMQ%light") is not None
    assert broker.store.queue_ids("%LMQ%light") == []


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("", "The specified topic is blank."),
        (
            "a.b",
            "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        ("TBW102", "The topic[TBW102] is conflict with system topic."),
        ("broker-a", "The topic[broker-a] is conflict with system topic."),
    ],
)
def test_system_topics_are_refused(peer: Peer, topic: str, remark: str) -> None:
    response = delete(peer, topic)
    assert (response.code, response.remark) == (ResponseCode.SYSTEM_ERROR, remark)


def test_slave_refuses(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_role="SLAVE", broker_id=1))
    assert delete(lab.peer(broker.addr)).code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize("drop", [False, True])
def test_counters_are_dropped_when_the_broker_is_configured_to(lab: BrokerLab, drop: bool) -> None:
    broker = lab.broker(BrokerConfig(auto_delete_unused_stats=drop))
    peer = lab.peer(broker.addr)
    send(peer)
    delete(peer)
    assert (broker.stats.snapshots("TOPIC_PUT_NUMS", TOPIC) is None) is drop
