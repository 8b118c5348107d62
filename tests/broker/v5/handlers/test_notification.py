"""NOTIFICATION: whether there is something to pop, as far as no recording shows it."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.v5.pop.revive import LAG_MS
from fakemq.protocol.headers.pop import PeekMessageRequestHeader
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Answer, Peer
from tests.support.pops import (
    GROUP,
    INVISIBLE_MS,
    TOPIC,
    notification_header,
    pop,
    send,
)


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def has_message(peer: Peer, **fields: str | int | bool) -> bool:
    answer = peer.ask(RequestCode5.NOTIFICATION, notification_header(**fields))
    assert (answer.code, answer.remark) == (0, "not set any response code")
    return answer.ext_fields["hasMsg"] == "true"


def wait(peer: Peer, **fields: str | int | bool) -> Answer:
    header = notification_header(poll_time=30_000, **fields)
    return peer.send(RequestCode5.NOTIFICATION, header, timeout_ms=60_000)


@pytest.mark.parametrize("large", [TOPIC, f"%RETRY%{GROUP}_{TOPIC}"])
def test_no_request_looks_into_endlessly_many_queues(
    broker: Broker, peer: Peer, large: str
) -> None:
    broker.create_topic(large, 2**31 - 1)
    notified = peer.ask(RequestCode5.NOTIFICATION, notification_header())
    assert (notified.code, "fakemq looks into 10000" in (notified.remark or "")) == (1, True)
    popped = pop(peer)
    assert (popped.code, popped.remark) == (1, notified.remark)
    peeked = PeekMessageRequestHeader(
        consumer_group=GROUP, topic=TOPIC, queue_id=-1, max_msg_nums=32
    )
    answer = peer.ask(RequestCode5.PEEK_MESSAGE, peeked)
    assert (answer.code, answer.remark) == (1, notified.remark)


def test_notification_knows_of_revived_messages(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pop(peer)
    lab.pass_time(INVISIBLE_MS + LAG_MS)
    assert has_message(peer)


def test_notification_in_order_knows_of_the_lock(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pop(peer, order=True, queue_id=0)
    assert not has_message(peer, order=True, queue_id=0)
    lab.pass_time(INVISIBLE_MS)
    assert has_message(peer, order=True, queue_id=0)


def test_arrival_wakes_the_newest_notification(peer: Peer) -> None:
    answers = [wait(peer) for _ in range(2)]
    send(peer)
    assert [answer.over for answer in answers] == [False, True]


def test_held_notification_ends_with_its_time(lab: BrokerLab, peer: Peer) -> None:
    answer = wait(peer)
    lab.pass_time(29_951)
    assert answer.response is not None
    assert answer.response.ext_fields["hasMsg"] == "false"
