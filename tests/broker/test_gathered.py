"""What a peer has gathered is walked in slices: no turn has all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.clients.client_channel import ClientChannelInfo
from fakemq.clock.slices import A_STEP, SLICE_MS
from fakemq.events import MemberChanged
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.client import UnregisterClientRequestHeader
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, broker5
from tests.support.clients import GROUP, TOPIC, beat, consume, consumer_data, long_pull
from tests.support.peer import Peer
from tests.support.pops import long_pop, send
from tests.support.slices import take_turns, work_in_turns

MANY = 10 * SLICE_MS
"""Each takes a step of a millisecond, so that all take some ten turns."""


def names() -> list[str]:
    return [f"group-{number}" for number in range(MANY)]


def produce(peer: Peer, broker: Broker) -> Callable[[], int]:
    beat(peer, producers=names())
    return lambda: sum(map(len, broker.producers.snapshot().values()))


def consume_in_many(peer: Peer, broker: Broker) -> Callable[[], int]:
    beat(peer, consumers=[consumer_data(group) for group in names()])
    return lambda: len(broker.consumers.snapshot())


def hold_pulls(peer: Peer, broker: Broker) -> Callable[[], int]:
    consume(peer)
    for _ in range(MANY):
        long_pull(peer)
    return lambda: len(broker.holds.snapshot())


@pytest.mark.parametrize("gather", [produce, consume_in_many, hold_pulls])
def test_end_of_a_connection_is_done_in_slices(
    lab: BrokerLab,
    broker: Broker,
    gather: Callable[[Peer, Broker], Callable[[], int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peer = lab.outside_peer(broker)
    broker.topics.create(TOPIC, 4)
    left = gather(peer, broker)
    assert left() == MANY
    work_in_turns(lab.clock, monkeypatch)
    peer.close()
    assert MANY - left() <= SLICE_MS
    assert take_turns(lab.clock) >= 8
    assert left() == 0


def test_connection_that_leaves_many_groups_is_asked_about_none(
    lab: BrokerLab, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = lab.outside_peer(broker)
    left = produce(peer, broker)
    assert broker.producers.available_channel(names()[-1]) is not None
    work_in_turns(lab.clock, monkeypatch)
    peer.close()
    assert left()
    assert not any(map(broker.producers.available_channel, names()))


@pytest.mark.parametrize("gather", [produce, consume_in_many])
def test_expiry_of_a_client_is_done_in_slices(
    lab: BrokerLab,
    broker: Broker,
    gather: Callable[[Peer, Broker], Callable[[], int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peer = lab.outside_peer(broker)
    left = gather(peer, broker)
    work_in_turns(lab.clock, monkeypatch)
    (session,) = broker.sessions
    broker.client_expiry.expire(session)
    assert MANY - left() <= SLICE_MS
    assert broker.sessions, "the connection ends when all are expired"
    assert take_turns(lab.clock) >= 8
    assert left() == 0
    assert not broker.sessions
    assert len(lab.journal.find(MemberChanged, how="expired")) == MANY


def test_members_of_a_large_group_are_notified_in_slices(
    lab: BrokerLab, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = [lab.outside_peer(broker, f"peer-{number}") for number in range(MANY)]
    for number, member in enumerate(members):
        consume(member, f"client-{number}")
        member.requests.clear()
    for member in members:
        member.requests.clear()
    work_in_turns(lab.clock, monkeypatch)
    members[0].send(
        RequestCode.UNREGISTER_CLIENT,
        UnregisterClientRequestHeader(client_id="client-0", consumer_group=GROUP),
    )

    def notified() -> int:
        lab.network.settle()
        return sum(bool(member.requests) for member in members)

    assert notified() <= SLICE_MS
    assert take_turns(lab.clock) >= 8
    assert notified() == MANY - 1


def test_member_that_unregisters_and_closes_is_announced_to_all_others(
    lab: BrokerLab, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = [lab.outside_peer(broker, f"peer-{number}") for number in range(MANY)]
    for number, member in enumerate(members):
        consume(member, f"client-{number}")
    for member in members:
        member.requests.clear()
    work_in_turns(lab.clock, monkeypatch)
    members[0].send(
        RequestCode.UNREGISTER_CLIENT,
        UnregisterClientRequestHeader(client_id="client-0", consumer_group=GROUP),
    )
    lab.network.settle()
    members[0].close()
    take_turns(lab.clock)
    lab.network.settle()
    assert all(member.requests for member in members[1:])


def test_heartbeat_looks_at_the_client_that_is_silent_longest_alone(
    lab: BrokerLab, broker: Broker, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for group in names():  # a client for each
        beat(peer, producers=[group])
    (session,) = broker.sessions
    channels = broker.producers.channels_of(session)
    assert len(channels) == MANY
    looked = []

    def looked_at(*_: object) -> Iterator[ClientChannelInfo]:
        for channel in channels:
            looked.append(channel)
            yield channel

    monkeypatch.setattr(type(broker.producers), "channels_of", looked_at)
    broker.client_expiry.watch(session)
    assert looked == [next(iter(channels))]


def test_client_that_is_silent_longest_is_the_first_one(
    lab: BrokerLab, broker: Broker, peer: Peer
) -> None:
    for group in ("a", "b", "c"):
        beat(peer, producers=[group])
        lab.clock.advance(1)
    beat(peer, producers=["a"])
    (session,) = broker.sessions
    channels = list(broker.producers.channels_of(session))
    assert len(channels) == 3
    assert sorted(channels, key=lambda channel: channel.last_heartbeat_ms) == channels


def test_requests_that_a_lost_client_has_not_answered_are_given_up_in_slices(
    lab: BrokerLab, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = lab.outside_peer(broker)
    beat(peer)
    (session,) = broker.sessions
    answers: list[RemotingCommand | None] = []
    for _ in range(MANY):
        session.invoke(
            RemotingCommand(RequestCode.GET_CONSUMER_RUNNING_INFO), 10_000, answers.append
        )
    work_in_turns(lab.clock, monkeypatch)
    peer.close()
    assert len(answers) <= SLICE_MS
    assert take_turns(lab.clock) >= 8
    assert answers == [None] * MANY


QUESTIONS: dict[int, dict[str, str]] = {
    RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: {"topic": "orders"},
    RequestCode.GET_CONSUME_STATS: {"consumerGroup": "group-1"},
    RequestCode.DELETE_SUBSCRIPTIONGROUP: {"groupName": "group-1", "removeOffset": "true"},
    RequestCode.GET_ALL_PRODUCER_INFO: {},
    RequestCode.QUERY_CORRECTION_OFFSET: {"topic": "orders", "filterGroups": "group-1"},
}


@pytest.mark.parametrize("code", QUESTIONS)
def test_question_about_one_name_walks_tables_in_slices(
    lab: BrokerLab, broker: Broker, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = lab.outside_peer(broker)
    beat(peer, producers=names())
    for number in range(MANY * A_STEP):
        broker.offsets.commit(f"group-{number}", "orders", 0, 0)
    work_in_turns(lab.clock, monkeypatch)
    answer = peer.send(code, ext_fields=QUESTIONS[code])
    assert answer.response is None
    assert take_turns(lab.clock) >= 8
    assert broker.clock.unfinished_count == 0


def test_arrival_leaves_held_pops_of_closed_connections_to_slices(
    lab: BrokerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = lab.broker(reference=REFERENCE)
    broker.create_topic(TOPIC, 1)
    leaving, peer = lab.outside_peer(broker), lab.peer(broker.addr)
    for _ in range(MANY):
        long_pop(leaving)
    held, polling = long_pop(peer), broker5(broker).pop.polling
    work_in_turns(lab.clock, monkeypatch)
    leaving.close()
    left = len(polling)
    send(peer)
    assert left - len(polling) <= 1
    take_turns(lab.clock)
    lab.network.settle()
    assert held.over
    assert not len(polling)
