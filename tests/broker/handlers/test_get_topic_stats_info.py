"""GET_TOPIC_STATS_INFO: offsets and times of every queue of a topic."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.stats import TopicOffset, TopicStatsTable
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.topic import GetTopicStatsInfoRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import TOPIC, send
from tests.support.peer import Peer
from tests.support.time import START_MS

HEADER = GetTopicStatsInfoRequestHeader(topic=TOPIC)


def test_every_writable_queue_is_listed(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    broker.topics.update(TopicConfig(topic_name=TOPIC, read_queue_nums=1, write_queue_nums=2))
    send(peer)
    lab.clock.advance("5s")
    send(peer)
    response = peer.ask(RequestCode.GET_TOPIC_STATS_INFO, HEADER)
    assert TopicStatsTable.decode(response.body).offset_table == {
        MessageQueue(TOPIC, "broker-a", 0): TopicOffset(
            min_offset=0, max_offset=2, last_update_timestamp=START_MS + 5000
        ),
        MessageQueue(TOPIC, "broker-a", 1): TopicOffset(),
    }
