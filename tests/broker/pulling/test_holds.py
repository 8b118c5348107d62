"""Held pulls: the grid, arrivals, timeouts, two axes, a hundred ways to interleave them."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.dispatch.answers import OVERLOAD
from fakemq.events import PullHeld, PullWoken
from fakemq.protocol.batch import BatchMember, encode_batch
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.broker_lab import BrokerLab, send_header
from tests.support.clients import (
    GROUP,
    TOPIC,
    code,
    consume,
    hold_timers,
    long_pull,
    send,
)
from tests.support.peer import Peer
from tests.support.slices import take_turns, work_in_turns


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    broker = lab.broker()
    broker.create_topic(TOPIC, 4)
    return broker


@pytest.fixture
def producer(lab: BrokerLab, broker: Broker) -> Peer:
    return lab.peer(broker.addr, "producer")


def woken(lab: BrokerLab) -> list[str]:
    return [event.why for event in lab.journal.find(PullWoken)]


def send_batch(peer: Peer, *tags: str) -> None:
    members = [BatchMember(b"x", f"TAGS\x01{tag}\x02".encode()) for tag in tags]
    answer = peer.ask(
        RequestCode.SEND_BATCH_MESSAGE,
        send_header(TOPIC, queue_id=0, batch=True),
        encode_batch(members),
    )
    assert answer.code == ResponseCode.SUCCESS


# -- how long ---------------------------------------------------------------------------------


def test_hold_ends_on_the_grid_after_the_clients_time(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    lab.clock.advance(2)
    answer = long_pull(peer, suspend_timeout_millis=20_000)
    assert lab.journal.find(PullHeld, group=GROUP, topic=TOPIC, queue_id=0, queue_offset=0)
    assert broker.holds.snapshot()[0].due_in_ms == 23_000
    lab.clock.advance(22.999)
    assert code(answer) is None
    lab.clock.advance(0.001)
    assert code(answer) == ResponseCode.PULL_NOT_FOUND
    assert woken(lab) == ["timeout"]
    assert broker.holds.snapshot() == ()
    assert hold_timers(lab) == []


def test_hold_that_ends_on_a_tick_is_answered_at_it(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    answer = long_pull(peer)
    lab.clock.advance(14.999)
    assert code(answer) is None
    lab.clock.advance(0.001)
    assert code(answer) == ResponseCode.PULL_NOT_FOUND


def test_grid_begins_with_the_broker(lab: BrokerLab) -> None:
    lab.clock.advance(1.5)
    broker = lab.broker()
    broker.create_topic(TOPIC, 1)
    answer = long_pull(lab.peer(broker.addr), suspend_timeout_millis=1)
    lab.clock.advance(4.999)
    assert code(answer) is None
    lab.clock.advance(0.001)
    assert code(answer) == ResponseCode.PULL_NOT_FOUND


def test_hold_without_a_time_limit_waits_for_the_next_check(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    lab.clock.advance(1)
    answer = long_pull(peer, suspend_timeout_millis=-7)
    lab.clock.advance(3.999)
    assert code(answer) is None
    lab.clock.advance(0.001)
    assert code(answer) == ResponseCode.PULL_NOT_FOUND


def test_short_polling_holds_a_second_and_is_not_woken(
    lab: BrokerLab,
) -> None:
    broker = lab.broker(BrokerConfig(long_polling_enable=False))
    broker.create_topic(TOPIC, 1)
    peer, producer = lab.peer(broker.addr), lab.peer(broker.addr)
    answer = long_pull(peer)
    lab.clock.advance(0.3)
    late = long_pull(peer)
    lab.clock.advance(0.7)
    assert code(answer) == ResponseCode.PULL_NOT_FOUND
    assert code(late) is None
    send(producer)
    assert code(late) is None
    lab.clock.advance(0.999)
    assert code(late) is None
    lab.clock.advance(0.001)
    assert code(late) == ResponseCode.SUCCESS
    assert woken(lab) == ["timeout", "check"]


# -- arrivals ---------------------------------------------------------------------------------


def test_arrival_wakes_at_once(lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer) -> None:
    answer = long_pull(peer)
    send(producer, queue_id=1)
    assert code(answer) is None
    send(producer)
    assert answer.response is not None
    assert (answer.response.code, answer.response.remark) == (0, "FOUND")
    assert answer.response.ext_fields["nextBeginOffset"] == "1"
    assert woken(lab) == ["arrival"]
    assert hold_timers(lab) == []


def test_arrival_wakes_every_waiting_group(lab: BrokerLab, broker: Broker, producer: Peer) -> None:
    peers = [lab.peer(broker.addr) for _ in range(3)]
    answers = [
        long_pull(peer, consumer_group=f"group-{number}") for number, peer in enumerate(peers)
    ]
    send(producer)
    assert [code(answer) for answer in answers] == [0, 0, 0]


def test_arrival_of_another_tag_is_answered_at_the_next_check(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    lab.clock.advance(1)
    answer = long_pull(peer, subscription="wanted")
    send(producer, "other")
    assert code(answer) is None
    lab.clock.advance(3.999)
    assert code(answer) is None
    lab.clock.advance(0.001)
    assert code(answer) == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert answer.response is not None
    assert answer.response.ext_fields["nextBeginOffset"] == "1"
    assert woken(lab) == ["check"]


def test_matching_arrival_wakes_at_once_after_other_tags(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    lab.clock.advance(1)
    answer = long_pull(peer, subscription="wanted || needed")
    send(producer, "other")
    send(producer, "needed")
    assert code(answer) == ResponseCode.SUCCESS
    assert hold_timers(lab) == []


def test_batch_wakes_pulls_by_record_and_in_their_order(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    for group, tag in (("first", "late"), ("second", "early"), ("third", "late")):
        long_pull(peer, consumer_group=group, subscription=tag)
    send_batch(producer, "early", "late", "early")
    groups = [event.group for event in lab.journal.find(PullWoken)]
    assert groups == ["second", "first", "third"]


def test_each_put_begins_one_work_for_all_held_pulls_when_they_are_many(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [long_pull(peer, subscription=f"tag{number}") for number in range(60)]
    work_in_turns(lab.clock, monkeypatch)
    send_batch(producer, *["other"] * 20, "tag59")
    send_batch(producer, "other")
    assert broker.clock.unfinished(broker.holds.by_queue[TOPIC, 0]) == 2
    assert code(answers[59]) is None
    take_turns(lab.clock)
    lab.network.settle()
    assert broker.clock.unfinished_count == 0
    assert [code(answer) for answer in answers] == [None] * 59 + [ResponseCode.SUCCESS]


def test_batch_is_looked_at_in_slices_when_few_pulls_are_held(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = long_pull(peer, subscription="wanted")
    work_in_turns(lab.clock, monkeypatch)
    send_batch(producer, *["other"] * 49, "wanted")
    assert code(answer) == ResponseCode.SUCCESS, "one pull and 50 records: at once"
    answer = long_pull(peer, 50, subscription="wanted")
    send_batch(producer, *["other"] * 50, "wanted")
    assert code(answer) is None
    take_turns(lab.clock)
    lab.network.settle()
    assert code(answer) == ResponseCode.SUCCESS


def test_any_arrival_ends_an_expired_hold(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    lab.clock.advance(1)
    answer = long_pull(peer, subscription="wanted")
    lab.clock.advance(15)  # now 16 s; the next check is at 20 s
    assert code(answer) is None
    send(producer, "other")
    assert code(answer) == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert woken(lab) == ["timeout"]


def test_pull_is_held_only_once(lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer) -> None:
    answer = long_pull(peer, 0)
    lab.clock.advance(15)
    assert code(answer) == ResponseCode.PULL_NOT_FOUND
    assert len(lab.journal.find(PullHeld)) == 1


def test_only_pulls_that_found_nothing_are_held(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    send(producer, "a")
    assert code(long_pull(peer)) == ResponseCode.SUCCESS
    assert code(long_pull(peer, subscription="b")) == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert code(long_pull(peer, 9)) == ResponseCode.PULL_OFFSET_MOVED
    assert code(long_pull(peer, 1, sys_flag=PullSysFlag.SUBSCRIPTION)) == 19
    assert lab.journal.find(PullHeld) == []


def test_held_pull_is_checked_again_when_woken(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    answer = long_pull(peer)
    broker.topics.delete(TOPIC)
    lab.clock.advance(15)
    assert code(answer) == ResponseCode.TOPIC_NOT_EXIST


def test_held_pull_by_heartbeat_takes_the_subscription_of_its_wake_up(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    consume(peer)
    answer = long_pull(peer, sys_flag=PullSysFlag.SUSPEND)
    send(producer, "any")
    assert code(answer) == ResponseCode.SUCCESS


# -- whose time -------------------------------------------------------------------------------


def test_idle_outside_pull_ends_in_real_time_on_a_frozen_clock(
    lab: BrokerLab, broker: Broker
) -> None:
    answer = long_pull(lab.outside_peer(broker))
    lab.clock.advance("2h")
    assert code(answer) is None
    lab.outside_time_passes(14_999)
    assert code(answer) is None
    lab.outside_time_passes(1)
    assert code(answer) == ResponseCode.PULL_NOT_FOUND


def test_outside_pull_is_woken_on_a_frozen_clock(
    lab: BrokerLab, broker: Broker, producer: Peer
) -> None:
    answer = long_pull(lab.outside_peer(broker))
    lab.outside_time_passes(4_000)
    send(producer)
    assert code(answer) == ResponseCode.SUCCESS


# -- ends -------------------------------------------------------------------------------------


def test_closed_connection_ends_its_holds(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    long_pull(peer)
    long_pull(peer, queue_id=1)
    other = lab.peer(broker.addr)
    answer = long_pull(other)
    peer.close()
    assert len(broker.holds.snapshot()) == 1
    send(producer)
    assert code(answer) == ResponseCode.SUCCESS
    assert woken(lab) == ["arrival"]
    assert hold_timers(lab) == []


def test_stopped_broker_drops_its_holds_and_starts_a_new_grid(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    long_pull(peer)
    broker.stop()
    assert broker.holds.snapshot() == ()
    assert hold_timers(lab) == []
    lab.clock.advance(2)
    broker.start()
    answer = long_pull(lab.peer(broker.addr), suspend_timeout_millis=1)
    lab.clock.advance(4.999)
    assert code(answer) is None
    lab.clock.advance(0.001)
    assert code(answer) == ResponseCode.PULL_NOT_FOUND


def test_paused_broker_answers_held_pulls_after_resume(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    answer = long_pull(peer)
    broker.pause()
    lab.clock.advance(60)
    assert code(answer) is None
    broker.resume()
    lab.network.settle()
    assert code(answer) == ResponseCode.PULL_NOT_FOUND


def test_number_of_held_pulls_is_limited(
    lab: BrokerLab, broker: Broker, producer: Peer, peer: Peer
) -> None:
    broker.config.pull_thread_pool_queue_capacity = 3
    held = [long_pull(peer, queue_id=number) for number in range(3)]
    refused = long_pull(peer, queue_id=3).response
    assert refused is not None
    assert (refused.code, refused.remark) == (ResponseCode.SYSTEM_BUSY, OVERLOAD)
    assert [code(answer) for answer in held] == [None] * 3
    send(producer, queue_id=0)
    assert code(held[0]) == ResponseCode.SUCCESS
    held.append(long_pull(peer, queue_id=3))
    assert code(held[-1]) is None, "one has been answered: there is room again"
    peer.close()
    other = lab.peer(broker.addr, "other")
    consume(other)
    assert [code(long_pull(other, queue_id=number)) for number in (1, 2, 3)] == [None] * 3


def test_thousand_holds_share_one_timer(lab: BrokerLab, broker: Broker, peer: Peer) -> None:
    answers = [long_pull(peer, consumer_group=f"g{number}") for number in range(1000)]
    assert len(hold_timers(lab)) == 1
    lab.clock.advance(15)
    assert all(answer.over for answer in answers)
