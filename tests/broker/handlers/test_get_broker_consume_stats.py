"""GET_BROKER_CONSUME_STATS: the progress of every group with a config."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.stats import ConsumeStats, ConsumeStatsList
from fakemq.protocol.bodies.topic import TopicConfig
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.group import GetConsumeStatsInBrokerHeader
from tests.support.clients import GROUP, TOPIC, consume, send
from tests.support.peer import Peer


def ask(peer: Peer, *, is_order: bool = False) -> tuple[ConsumeStatsList, list[ConsumeStats]]:
    """The answer, and what it has of the group."""
    header = GetConsumeStatsInBrokerHeader(is_order=is_order)
    body = ConsumeStatsList.decode(peer.ask(RequestCode.GET_BROKER_CONSUME_STATS, header).body)
    (of_group,) = (one[GROUP] for one in body.consume_stats_list if GROUP in one)
    return body, of_group


def test_every_group_with_a_config_is_listed(broker: Broker, peer: Peer) -> None:
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP))
    broker.offsets.commit("nowhere", TOPIC, 0, 0)
    send(peer)
    send(peer)
    broker.offsets.commit(GROUP, TOPIC, 0, 1)
    body, (of_topic,) = ask(peer)
    assert body.broker_addr == broker.addr
    assert body.total_diff == 1
    names = [name for one in body.consume_stats_list for name in one]
    assert sorted(names) == sorted(broker.groups.snapshot())
    assert len(of_topic.offset_table) == 4


def test_topics_without_order_are_omitted_on_request(broker: Broker, peer: Peer) -> None:
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP))
    for topic, order in (("plain", False), ("ordered", True)):
        broker.topics.update(
            TopicConfig(topic_name=topic, read_queue_nums=1, write_queue_nums=1, order=order)
        )
        broker.topics.update_order_topics({"ordered"})
        broker.offsets.commit(GROUP, topic, 0, 0)
    assert len(ask(peer)[1]) == 2
    (only,) = ask(peer, is_order=True)[1]
    assert [queue.topic for queue in only.offset_table] == ["ordered"]


def test_topics_without_subscription_are_omitted(broker: Broker, peer: Peer) -> None:
    broker.create_topic("left", 1)
    broker.offsets.commit(GROUP, "left", 0, 0)
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP))
    assert len(ask(peer)[1]) == 1
    consume(peer)
    assert ask(peer)[1] == []
