"""GET_CONSUME_STATS: the progress of one group in its queues."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.tables.consume_stats import MAX_QUEUES, queues_of
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.protocol.bodies.stats import ConsumeStats, OffsetWrapper
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.headers.group import GetConsumeStatsRequestHeader
from fakemq.protocol.limits import FRAME_MAX_BYTES
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, consume, pull, send
from tests.support.peer import Peer
from tests.support.time import START_MS


def stats(peer: Peer, topic: str | None = None, group: str = GROUP) -> ConsumeStats:
    header = GetConsumeStatsRequestHeader(consumer_group=group, topic=topic)
    return ConsumeStats.decode(peer.ask(RequestCode.GET_CONSUME_STATS, header).body)


def queue(queue_id: int, topic: str = TOPIC) -> MessageQueue:
    return MessageQueue(topic, "broker-a", queue_id)


def test_every_readable_queue_is_listed(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 2)
    send(peer)
    lab.clock.advance("5s")
    send(peer)
    broker.offsets.commit(GROUP, TOPIC, 0, 1)
    assert stats(peer).offset_table == {
        queue(0): OffsetWrapper(broker_offset=2, consumer_offset=1, last_timestamp=START_MS),
        queue(1): OffsetWrapper(),
    }
    assert stats(peer).compute_total_diff() == 1


def test_committed_offset_beyond_the_end_has_no_time(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 1)
    broker.offsets.commit(GROUP, TOPIC, 0, 9)
    assert stats(peer).offset_table == {queue(0): OffsetWrapper(consumer_offset=9)}
    assert stats(peer).compute_total_diff() == -9


def test_request_without_a_topic_lists_all_topics_with_offsets(broker: Broker, peer: Peer) -> None:
    for topic in ("a", "b"):
        broker.create_topic(topic, 1)
        broker.offsets.commit(GROUP, topic, 0, 0)
    broker.offsets.commit(GROUP, "gone", 0, 0)
    broker.offsets.commit("other", "TBW102", 0, 0)
    for blank in (None, "", " "):
        assert set(stats(peer, blank).offset_table) == {queue(0, "a"), queue(0, "b")}
    assert set(stats(peer, "b").offset_table) == {queue(0, "b")}
    assert stats(peer, group="absent") == ConsumeStats()


def test_group_with_members_lists_its_subscriptions(broker: Broker, peer: Peer) -> None:
    for topic in (TOPIC, "left"):
        broker.create_topic(topic, 1)
        broker.offsets.commit(GROUP, topic, 0, 0)
    consume(peer)
    assert set(stats(peer).offset_table) == {queue(0)}
    assert stats(peer, "left").offset_table == {}
    # A group without members is shown for whatever is asked.
    assert set(stats(peer, "left", "absent").offset_table) == {queue(0, "left")}


def test_rate_is_that_of_the_samples(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    for _ in range(4):
        send(peer)
    pull(peer)
    broker.offsets.commit(GROUP, TOPIC, 0, 4)
    assert stats(peer).consume_tps == 0.0
    lab.clock.advance("10s")
    assert stats(peer).consume_tps == 0.4
    lab.clock.advance("80s")
    assert stats(peer).consume_tps == 0.0


def test_largest_possible_answer_is_sent(broker: Broker) -> None:
    assert len(queues_of(broker, TOPIC, MAX_QUEUES)) == MAX_QUEUES
    wide, huge = "w" * 127, 2**62
    offsets = {
        queue(0, wide): OffsetWrapper(broker_offset=huge, consumer_offset=huge, last_timestamp=huge)
    }
    entry_bytes = len(ConsumeStats(offset_table=offsets).encode())
    assert entry_bytes * MAX_QUEUES < FRAME_MAX_BYTES


@pytest.mark.parametrize("code", [202, 208, 222, 303, 317])
@pytest.mark.parametrize("queue_nums", [MAX_QUEUES + 1, (1 << 31) - 1])
def test_answer_with_too_many_queues_is_refused(
    broker: Broker, peer: Peer, code: int, queue_nums: int
) -> None:
    broker.create_topic("wide", queue_nums)
    broker.offsets.commit(GROUP, "wide", 0, 0)
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP))
    fields = {"topic": "wide", "consumerGroup": GROUP, "group": GROUP, "timestamp": "0"}
    response = peer.ask(code, ext_fields=fields)
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        f"topic wide has {queue_nums} queues, fakemq lists no more than 32768",
    )


def test_missing_group_is_refused(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_CONSUME_STATS, ext_fields={"topic": TOPIC})
    assert response.code == ResponseCode.SYSTEM_ERROR
