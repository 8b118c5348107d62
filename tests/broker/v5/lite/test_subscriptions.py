"""Subscribers of lite topics, and what changes of it mean."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.events import LiteSubscribed, LiteUnsubscribed
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.lites import (
    CLIENT,
    GROUP,
    ack_lite,
    bind,
    bodies,
    control,
    pop_lite,
    queue_of,
    send_lite,
    subscribe,
)
from tests.support.peer import Peer
from tests.support.slices import take_turns


def queues_of(broker: Broker, client_id: str = CLIENT) -> list[str] | None:
    found = broker5(broker).lite.subscriptions.find(client_id)
    return None if found is None else sorted(found.queues)


def test_partial_changes_add_and_remove(broker: Broker, peer: Peer) -> None:
    subscribe(peer, "a", "b")
    control(peer, "PARTIAL_REMOVE", "a", "c")
    assert queues_of(broker) == [queue_of("b")]
    assert broker5(broker).lite.subscriptions.count == 1


def test_complete_changes_replace_and_forget(broker: Broker, peer: Peer) -> None:
    subscribe(peer, "a", "b")
    control(peer, "COMPLETE_ADD", "b", "c")
    assert queues_of(broker) == [queue_of("b"), queue_of("c")]
    control(peer, "COMPLETE_REMOVE")
    assert queues_of(broker) is None
    assert broker5(broker).lite.subscriptions.count == 0


def test_client_keeps_the_group_of_its_first_subscription(broker: Broker, peer: Peer) -> None:
    bind(broker, "others")
    subscribe(peer, "a")
    subscribe(peer, "b", group="others")
    found = broker5(broker).lite.subscriptions.find(CLIENT)
    assert found is not None
    assert found.group == GROUP


def test_each_message_goes_to_one_client_of_each_group(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    bind(broker, "others")
    other = lab.peer(broker.addr, "other")
    subscribe(peer, "a")
    subscribe(other, "a", client_id="c2")
    subscribe(other, "a", client_id="c3", group="others")
    send_lite(peer, "a", b"1")
    got = [bodies(pop_lite(peer, client_id=one)) for one in ("c1", "c2")]
    assert sorted(got) == [[], [b"1"]]
    assert bodies(pop_lite(other, client_id="c3", consumer_group="others")) == [b"1"]


def test_exclusive_lite_topic_has_the_last_subscriber(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    bind(broker, model="Exclusive")
    other = lab.peer(broker.addr, "other")
    subscribe(peer, "a", "b")
    subscribe(other, "a", client_id="c2")
    (notice,) = peer.requests
    assert notice.code == RequestCode5.NOTIFY_UNSUBSCRIBE_LITE
    assert notice.ext_fields == {"liteTopic": "a", "consumerGroup": GROUP, "clientId": CLIENT}
    assert queues_of(broker) == [queue_of("b")]
    send_lite(peer, "a", b"1")
    assert pop_lite(peer) == []
    assert bodies(pop_lite(other, client_id="c2")) == [b"1"]
    assert [one.client_id for one in lab.journal.find(LiteSubscribed)] == ["c1", "c1", "c2"]
    assert [one.client_id for one in lab.journal.find(LiteUnsubscribed)] == ["c1"]


def test_next_exclusive_subscriber_begins_anew_if_its_group_wants_that(
    broker: Broker, peer: Peer
) -> None:
    bind(broker, model="Exclusive", reset_offset_exclusive="true")
    send_lite(peer, "a", b"1")
    subscribe(peer, "a")
    (message,) = pop_lite(peer)
    ack_lite(peer, message)
    subscribe(peer, "a", client_id="c2")
    assert bodies(pop_lite(peer, client_id="c2")) == [b"1"]


def test_group_with_a_wildcard_has_all_lite_topics(broker: Broker, peer: Peer) -> None:
    bind(broker, wildcard="true")
    assert control(peer, "PARTIAL_ADD", "a").code == 604
    assert control(peer, "COMPLETE_ADD").code == 0
    for lite in ("a", "b"):
        send_lite(peer, lite, lite.encode())
    assert bodies(pop_lite(peer)) == [b"a", b"b"]


def test_member_with_a_wildcard_gets_what_was_there_before(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    bind(broker, wildcard="true")
    send_lite(peer, "a", b"1")
    control(peer, "COMPLETE_ADD")
    assert pop_lite(peer) == []
    lab.pass_time(10_000)
    assert bodies(pop_lite(peer)) == [b"1"]


def test_outside_member_with_a_wildcard_gets_it_by_its_own_time(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    bind(broker, wildcard="true")
    outside = lab.outside_peer(broker)
    send_lite(peer, "a", b"1")
    control(outside, "COMPLETE_ADD")
    lab.outside_time_passes(10_000)
    take_turns(lab.clock)
    assert bodies(pop_lite(outside)) == [b"1"]


def test_refused_clients_are_not_kept(broker: Broker, peer: Peer) -> None:
    broker5(broker).config.max_lite_subscription_count = 0
    registry = broker5(broker).lite.subscriptions
    assert control(peer, "PARTIAL_ADD", "a", client_id="c9").code != 0
    assert registry.session("c9") is None


def test_client_without_lite_topics_is_forgotten(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    bind(broker, model="Exclusive")
    registry = broker5(broker).lite.subscriptions
    subscribe(peer, "a")
    subscribe(peer, "a", client_id="c2")
    assert (queues_of(broker), registry.session(CLIENT)) == (None, None)
    subscribe(peer, "a", client_id="c2")
    assert registry.session("c2") is not None


def test_client_that_was_forgotten_has_no_session_once_its_lite_topic_is_deleted(
    broker: Broker, peer: Peer
) -> None:
    bind(broker, model="Exclusive")
    lite = broker5(broker).lite
    send_lite(peer, "a")
    subscribe(peer, "a")
    subscribe(peer, "a")  # it is taken from the client itself, which is forgotten
    assert queues_of(broker) is None
    lite.delete(queue_of("a"), [GROUP])
    assert lite.subscriptions.session(CLIENT) is None


def test_wildcard_counts_for_the_parent_of_its_group_and_while_it_has_members(
    broker: Broker, peer: Peer
) -> None:
    bind(broker, wildcard="true")
    registry = broker5(broker).lite.subscriptions
    control(peer, "COMPLETE_ADD", topic="other")
    assert registry.subscribers("other", queue_of("a", "other")) == {}
    control(peer, "COMPLETE_ADD", client_id="c2")
    assert list(registry.subscribers("sessions", queue_of("a"))) == [GROUP]
    control(peer, "COMPLETE_REMOVE", client_id="c2")
    assert registry.parents_with_all() == []


def test_outside_client_of_a_removal_is_forgotten_by_its_own_time(
    lab: BrokerLab, broker: Broker
) -> None:
    control(lab.outside_peer(broker), "PARTIAL_REMOVE", "a")
    assert queues_of(broker) == []
    lab.outside_time_passes(300_000)
    take_turns(lab.clock)
    assert queues_of(broker) is None


def test_reset_of_a_lite_topic_without_a_message_ends_with_its_subscribers(
    broker: Broker, peer: Peer
) -> None:
    option = {"type": "OFFSET", "value": 7}
    subscribe(peer, "a", offsetOption=option)
    assert broker.offsets.query(GROUP, queue_of("a"), 0) == 7
    control(peer, "COMPLETE_REMOVE")
    assert broker.offsets.query(GROUP, queue_of("a"), 0) == -1
    assert broker5(broker).offset_resets.is_empty


def test_deleted_lite_topic_has_no_reset(broker: Broker, peer: Peer) -> None:
    send_lite(peer, "a")
    subscribe(peer, "a", offsetOption={"type": "OFFSET", "value": 7})
    broker5(broker).lite.delete(queue_of("a"), [GROUP])
    assert broker5(broker).offset_resets.is_empty


def test_silent_client_is_forgotten(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    subscribe(peer, "a")
    lab.pass_time(110_000)
    subscribe(peer, "b")
    lab.pass_time(180_000)
    assert queues_of(broker) is not None
    lab.pass_time(120_000)
    assert queues_of(broker) is None
