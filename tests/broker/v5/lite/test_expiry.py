"""Lite topics end some time after their last message."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.events import LiteTopicExpired
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.headers.send import ConsumerSendMsgBackRequestHeader
from fakemq.protocol.headers.topic import DeleteTopicRequestHeader
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.lites import (
    GROUP,
    ack_lite,
    bodies,
    make_parent,
    pop_lite,
    queue_of,
    send_lite,
    subscribe,
)
from tests.support.peer import Peer

MINUTE_MS = 60_000


def end_of(broker: Broker, lite: str) -> int:
    return broker.store.max_offset_in_queue(queue_of(lite), 0)


def test_idle_lite_topic_is_deleted_with_what_was_consumed_of_it(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    make_parent(broker, lite_topic_expiration="30")
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    (message,) = pop_lite(peer)
    ack_lite(peer, message)
    assert broker.offsets.query(GROUP, queue_of("a"), 0) == 1
    lab.pass_time(29 * MINUTE_MS)
    send_lite(lab.peer(broker.addr, "later"), "b")
    assert end_of(broker, "a") == 1
    lab.pass_time(4 * MINUTE_MS)
    assert (end_of(broker, "a"), end_of(broker, "b")) == (0, 1)
    assert broker.offsets.query(GROUP, queue_of("a"), 0) == -1
    (expired,) = lab.journal.find(LiteTopicExpired)
    assert (expired.topic, expired.lite_topic) == ("sessions", "a")


def test_expired_lite_topic_begins_again(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    make_parent(broker, lite_topic_expiration="1")
    send_lite(peer, "a", b"1")
    lab.pass_time(20 * MINUTE_MS)
    later = lab.peer(broker.addr, "later")
    send_lite(later, "a", b"2")
    subscribe(later, "a")
    (message,) = pop_lite(later)
    assert (message.body, message.offset) == (b"2", 0)


def test_lite_topics_of_a_parent_without_expiration_stay(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send_lite(peer, "a")
    lab.pass_time(24 * 60 * MINUTE_MS)
    assert end_of(broker, "a") == 1


def test_lite_topics_of_the_store_expire_after_a_restart(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    make_parent(broker, lite_topic_expiration="1")
    send_lite(peer, "a")
    broker.stop()
    broker.start()
    lab.pass_time(20 * MINUTE_MS)
    assert end_of(broker, "a") == 0


def test_deleted_parent_takes_its_lite_topics_with_it(broker: Broker, peer: Peer) -> None:
    make_parent(broker, "other")
    subscribe(peer, "a")
    send_lite(peer, "a")
    send_lite(peer, "a", topic="other")
    header = DeleteTopicRequestHeader(topic="sessions")
    assert peer.ask(RequestCode.DELETE_TOPIC_IN_BROKER, header).code == 0
    assert end_of(broker, "a") == 0
    assert broker.store.max_offset_in_queue(queue_of("a", "other"), 0) == 1
    found = broker5(broker).lite.subscriptions.find("c1")
    assert found is not None
    assert not found.queues


def test_broker_without_lite_topics_has_no_such_timer(lab: BrokerLab, broker: Broker) -> None:
    lab.pass_time(MINUTE_MS)
    assert not [one for one in lab.clock.timers() if one.kind.startswith("lite_")]


def test_dead_letter_of_the_first_message_comes_again(broker: Broker, peer: Peer) -> None:
    # As in 5.5.0: a dead letter names the light queue of its message, with the offset there.
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    (message,) = pop_lite(peer)
    back = ConsumerSendMsgBackRequestHeader(
        offset=0,
        group=GROUP,
        delay_level=-1,
        origin_msg_id="m",
        origin_topic="sessions",
        max_reconsume_times=0,
    )
    assert peer.ask(RequestCode.CONSUMER_SEND_MSG_BACK, back).code == 0
    ack_lite(peer, message)
    assert end_of(broker, "a") == 2
    assert bodies(pop_lite(peer)) == [b"1"]


def lite_timers(lab: BrokerLab) -> list[int]:
    return [one.due_ms for one in lab.clock.timers() if one.kind == "lite_expiry"]


def test_looks_are_only_when_something_may_expire(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    send_lite(peer, "a")
    lab.pass_time(15 * MINUTE_MS)
    assert lite_timers(lab) == []
    make_parent(broker, lite_topic_expiration="60")
    lab.pass_time(2 * MINUTE_MS)
    (due_ms,) = lite_timers(lab)
    assert 60 * MINUTE_MS < due_ms <= 62 * MINUTE_MS
    lab.pass_time(due_ms - 17 * MINUTE_MS)
    assert end_of(broker, "a") == 0
    assert lite_timers(lab) == []
