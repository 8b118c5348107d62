"""Which held pulls a record concerns: few looks, however many are held."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.pulling import held_queue
from fakemq.broker.pulling.held_queue import Arrival, HeldPull
from fakemq.broker.pulling.holds import PullRequestHoldService
from fakemq.config.model import BrokerConfig
from fakemq.events import PullWoken
from fakemq.protocol.codes import ResponseCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import TOPIC, code, long_pull, send
from tests.support.peer import Peer
from tests.support.slices import take_turns, work_in_turns


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    broker = lab.broker(BrokerConfig(enable_property_filter=True))
    broker.create_topic(TOPIC, 1)
    return broker


@pytest.fixture
def producer(lab: BrokerLab, broker: Broker) -> Peer:
    return lab.peer(broker.addr, "producer")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[HeldPull]:
    """The pulls whose filters were asked about a record of a queue."""
    asked: list[HeldPull] = []
    wants = HeldPull.wants

    def note(pull: HeldPull, arrival: Arrival) -> bool:
        asked.append(pull)
        return wants(pull, arrival)

    monkeypatch.setattr(HeldPull, "wants", note)
    return asked


@pytest.fixture
def passed_by(monkeypatch: pytest.MonkeyPatch) -> list[HeldPull]:
    """The pulls that a record has passed by, so that the next check answers them."""
    passed_by: list[HeldPull] = []
    check_soon = PullRequestHoldService._check_soon

    def note(holds: PullRequestHoldService, pull: HeldPull) -> None:
        passed_by.append(pull)
        check_soon(holds, pull)

    monkeypatch.setattr(PullRequestHoldService, "_check_soon", note)
    return passed_by


def test_record_of_an_unwanted_tag_is_looked_at_once_for_each_pull(
    broker: Broker,
    peer: Peer,
    producer: Peer,
    asked: list[HeldPull],
    passed_by: list[HeldPull],
) -> None:
    answers = [long_pull(peer, subscription=f"tag{number} || or") for number in range(40)]
    for _ in range(30):
        send(producer, "other")
    assert len(passed_by) == 40, "by the first record only"
    send(producer, "tag7")
    assert code(answers[7]) == ResponseCode.SUCCESS
    send(producer, "or")
    assert all(code(answer) == ResponseCode.SUCCESS for answer in answers)
    assert len(passed_by) == 40
    assert not asked, "few tags are found by their hash"


@pytest.mark.parametrize(
    "fields",
    [
        {"subscription": " || ".join(f"tag{number}" for number in range(50))},
        {"subscription": "price > 3", "expression_type": "SQL92"},
    ],
    ids=["many tags", "expression"],
)
def test_filter_of_many_pulls_is_asked_once_for_each_record(
    broker: Broker, peer: Peer, producer: Peer, asked: list[HeldPull], fields: dict[str, Any]
) -> None:
    answers = [long_pull(peer, **fields) for _ in range(40)]
    for _ in range(30):
        send(producer, "other")
    assert len(asked) == 30, "one pull's filter answers for all"
    assert not any(answer.over for answer in answers)


def test_pull_whose_time_is_over_is_answered_by_a_record_that_it_does_not_want(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    answer = long_pull(peer, subscription="wanted", suspend_timeout_millis=1_000)
    lab.clock.advance("2s")
    assert not answer.over
    send(producer, "other")
    assert code(answer) == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert [event.why for event in lab.journal.find(PullWoken)] == ["timeout"]


def test_pulls_by_expression_wait_for_their_check_when_too_many_puts_wait(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [
        long_pull(peer, subscription=f"TAGS = 'no-{number}'", expression_type="SQL92")
        for number in range(60)
    ]
    wanted = long_pull(peer, subscription="TAGS = 'late'", expression_type="SQL92")
    by_tag = long_pull(peer, subscription="late")
    monkeypatch.setattr(held_queue, "MOST_WAKES", 3)
    work_in_turns(lab.clock, monkeypatch)
    for tag in ("a", "b", "c", "late"):
        send(producer, tag)
    take_turns(lab.clock)
    lab.network.settle()
    assert code(by_tag) == ResponseCode.SUCCESS
    assert code(wanted) is None
    lab.clock.advance(5)
    assert code(wanted) == ResponseCode.SUCCESS
    assert {code(answer) for answer in others} == {ResponseCode.PULL_RETRY_IMMEDIATELY}


def test_closed_pulls_leave_nothing_behind(lab: BrokerLab, broker: Broker) -> None:
    stays = lab.peer(broker.addr)
    long_pull(stays, subscription="stays")
    for _ in range(300):
        peer = lab.peer(broker.addr)
        long_pull(peer, subscription="leaves", suspend_timeout_millis=10**12)
        peer.close()
    queue = broker.holds.by_queue[TOPIC, 0]
    gc.collect()
    assert len([one for one in gc.get_objects() if isinstance(one, HeldPull)]) < 150
    assert len(queue.pulls) == 1
