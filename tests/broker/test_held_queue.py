"""Which held pulls a record concerns: few looks, however many are held."""

from __future__ import annotations

import gc
from itertools import count
from typing import Any

import pytest

from fakemq.broker import holds
from fakemq.broker.broker import Broker
from fakemq.broker.held_queue import Arrival, HeldPull
from fakemq.clock import slices
from fakemq.config.model import BrokerConfig
from fakemq.protocol.codes import ResponseCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import TOPIC, code, end_turns, long_pull, send
from tests.support.peer import Peer


@pytest.fixture
def broker(lab: BrokerLab) -> Broker:
    broker = lab.broker(BrokerConfig(enable_property_filter=True))
    broker.create_topic(TOPIC, 1)
    return broker


@pytest.fixture
def producer(lab: BrokerLab, broker: Broker) -> Peer:
    return lab.peer(broker.addr, "producer")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, int]]:
    """The filters that were asked about a record of a queue, each with the record's tags code."""
    asked: list[tuple[object, int]] = []
    wants = HeldPull.wants

    def note(pull: HeldPull, arrival: Arrival) -> bool:
        asked.append((pull.message_filter, arrival.tags_code))
        return wants(pull, arrival)

    monkeypatch.setattr(HeldPull, "wants", note)
    return asked


def test_record_of_an_unwanted_tag_is_looked_at_once_for_each_pull(
    broker: Broker, peer: Peer, producer: Peer, looks: list[object]
) -> None:
    answers = [long_pull(peer, subscription=f"tag{number} || or") for number in range(40)]
    for _ in range(30):
        send(producer, "other")
    assert len(looks) == 40, "by the first record only"
    send(producer, "tag7")
    assert len(looks) == 41
    assert code(answers[7]) == ResponseCode.SUCCESS
    send(producer, "or")
    assert all(code(answer) == ResponseCode.SUCCESS for answer in answers)


@pytest.mark.parametrize(
    "fields",
    [
        {"subscription": " || ".join(f"tag{number}" for number in range(50))},
        {"subscription": "price > 3", "expression_type": "SQL92"},
    ],
    ids=["many tags", "expression"],
)
def test_filter_of_many_pulls_is_asked_once_for_each_record(
    broker: Broker, peer: Peer, producer: Peer, looks: list[object], fields: dict[str, Any]
) -> None:
    answers = [long_pull(peer, **fields) for _ in range(40)]
    for _ in range(30):
        send(producer, "other")
    assert len(looks) == 40 + 30, "each pull by the first record, and the filter by each"
    assert not any(answer.over for answer in answers)


def test_pulls_by_expression_wait_for_their_check_when_too_many_puts_wait(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [
        long_pull(peer, subscription=f"TAGS = 'no-{number}'", expression_type="SQL92")
        for number in range(60)
    ]
    wanted = long_pull(peer, subscription="TAGS = 'late'", expression_type="SQL92")
    by_tag = long_pull(peer, subscription="late")
    monkeypatch.setattr(holds, "MOST_WAKES", 3)
    now_ms = count()
    monkeypatch.setattr(slices, "thread_busy_ms", lambda: next(now_ms))
    lab.clock.slices.soon = lambda: None
    for tag in ("a", "b", "c", "late"):
        send(producer, tag)
    end_turns(lab)
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
