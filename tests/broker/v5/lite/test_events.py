"""Which client looks into which lite topic, and what happens if it does not."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.protocol.v5.headers.lite import TriggerLiteDispatchRequestHeader
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.lites import (
    CLIENT,
    GROUP,
    bind,
    bodies,
    control,
    long_pop,
    pop_lite,
    popped,
    queue_of,
    send_lite,
    subscribe,
)
from tests.support.peer import Peer


def test_held_pop_is_woken_by_a_message(peer: Peer, broker: Broker) -> None:
    subscribe(peer, "a")
    answer = long_pop(peer)
    send_lite(peer, "b")
    assert not answer.over
    send_lite(peer, "a", b"1")
    assert bodies(popped(answer.response)) == [b"1"]


def test_held_pop_ends_in_vain(lab: BrokerLab, peer: Peer, broker: Broker) -> None:
    answer = long_pop(peer, 5_000)
    lab.pass_time(4_900)
    assert not answer.over
    lab.pass_time(100)
    assert answer.response is not None
    assert answer.response.code == 210


def test_event_of_a_silent_client_goes_to_another_one(
    lab: BrokerLab, peer: Peer, broker: Broker
) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    subscribe(peer, "a", client_id="c2")  # a second event, as there is a message
    pop_lite(peer, client_id="c2", max_msg_num=0)
    lab.pass_time(25_000)
    got = [bodies(pop_lite(peer, client_id=one)) for one in (CLIENT, "c2")]
    assert sorted(got) == [[], [b"1"]]


def test_client_with_too_many_events_gets_the_others_later(
    lab: BrokerLab, peer: Peer, broker: Broker
) -> None:
    bind(broker, client_max_event_cnt="10")
    lites = [f"l{number}" for number in range(12)]
    subscribe(peer, *lites)
    for lite in lites:
        send_lite(peer, lite, lite.encode())
    assert len(pop_lite(peer, invisible_time=60_000)) == 10
    assert pop_lite(peer) == []
    lab.pass_time(20_000)
    assert len(pop_lite(peer)) == 2


def test_trigger_lets_a_client_look_again(peer: Peer, broker: Broker) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    send_lite(peer, "a", b"2")
    assert bodies(pop_lite(peer, max_msg_num=1)) == [b"1"]
    assert pop_lite(peer) == []  # it has had its event
    broker.offsets.commit(GROUP, queue_of("a"), 0, 1)
    broker5(broker).lite.order.remove(queue_of("a"), GROUP)
    assert pop_lite(peer) == []
    header = TriggerLiteDispatchRequestHeader(group=GROUP)
    assert peer.ask(RequestCode5.TRIGGER_LITE_DISPATCH, header).code == 0
    assert bodies(pop_lite(peer)) == [b"2"]


def test_clients_that_left_have_no_events(lab: BrokerLab, peer: Peer, broker: Broker) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a")
    lite = broker5(broker).lite
    assert len(lite.events) == 1
    control(peer, "COMPLETE_REMOVE")
    assert len(lite.events) == 0
    lab.pass_time(60_000)
    assert not [one for one in lab.clock.timers() if one.kind == "lite_events"]


def test_pop_looks_into_much_news_in_parts(
    peer: Peer, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    lites = [f"l{number}" for number in range(12)]
    subscribe(peer, *lites)
    for lite in lites:
        send_lite(peer, lite)
    assert len(pop_lite(peer, invisible_time=60_000)) == 12
    send_lite(peer, "l11", b"last")
    subscribe(peer, "free")
    for lite in lites:
        send_lite(peer, lite)
    send_lite(peer, "free", b"free")
    monkeypatch.setattr("fakemq.broker.v5.lite.pop.MOST_LOOKED", 5)
    assert pop_lite(peer) == []
    answer = long_pop(peer)
    assert bodies(popped(answer.response)) == [b"free"]


def test_message_comes_again_after_a_clock_went_back(
    lab: BrokerLab, peer: Peer, broker: Broker
) -> None:
    subscribe(peer, "a")
    send_lite(peer, "a", b"1")
    assert len(pop_lite(peer)) == 1
    lab.pass_time(10_001)
    broker.clock.skew_ms = -5_000
    assert pop_lite(peer) == []
    lab.pass_time(5_001)
    assert bodies(pop_lite(peer)) == [b"1"]


def test_without_event_mode_a_client_looks_into_all_of_its_lite_topics(
    peer: Peer, broker: Broker
) -> None:
    broker5(broker).config.enable_lite_event_mode = False
    subscribe(peer, "a", "b", "none")
    send_lite(peer, "a", b"1")
    send_lite(peer, "b", b"2")
    assert sorted(bodies(pop_lite(peer))) == [b"1", b"2"]


def test_without_event_mode_a_pop_looks_into_much_in_parts(
    peer: Peer, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker5(broker).config.enable_lite_event_mode = False
    monkeypatch.setattr("fakemq.broker.v5.lite.pop.MOST_LOOKED", 2)
    subscribe(peer, "a", "b", "c", "d", "e")
    for lite in ("a", "b", "c", "d", "e"):
        send_lite(peer, lite, lite.encode())
    got = [bodies(pop_lite(peer)) for _ in range(3)]
    assert [len(one) for one in got[:2]] == [2, 2]
    assert sorted({body for one in got for body in one}) == [b"a", b"b", b"c", b"d", b"e"]
