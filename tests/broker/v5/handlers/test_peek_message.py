"""PEEK_MESSAGE: messages are returned, and stay where they are."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.v5.pop.revive import LAG_MS
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.pop import PeekMessageRequestHeader
from fakemq.protocol.message import decode_records
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Peer
from tests.support.pops import GROUP, INVISIBLE_MS, TOPIC, pop, send


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


def peek(peer: Peer, **fields: str | int) -> RemotingCommand:
    header = PeekMessageRequestHeader(
        consumer_group=GROUP, topic=TOPIC, queue_id=-1, max_msg_nums=32
    )
    vars(header).update(fields)
    return peer.ask(RequestCode5.PEEK_MESSAGE, header)


def bodies(answer: RemotingCommand) -> list[bytes]:
    return [message.body for message in decode_records(bytes(answer.body))]


def test_peek_begins_behind_the_last_pop(peer: Peer) -> None:
    for body in (b"a", b"b"):
        send(peer, body)
    pop(peer, max_msg_nums=1)
    assert bodies(peek(peer, queue_id=0)) == [b"b"]
    assert bodies(peek(peer, queue_id=1)) == []


def test_peek_knows_of_revived_messages(lab: BrokerLab, peer: Peer) -> None:
    send(peer)
    pop(peer)
    answer = peek(peer)
    assert (answer.code, answer.remark) == (19, "NO_MESSAGE_IN_QUEUE")
    lab.pass_time(INVISIBLE_MS + LAG_MS)
    assert bodies(peek(peer)) == [b"hello"]


@pytest.mark.parametrize(
    ("fields", "code"), [({"topic": "no"}, 17), ({"queue_id": 2}, 29), ({"max_msg_nums": -1}, 1)]
)
def test_peek_of_what_is_not_there_is_refused(
    peer: Peer, fields: dict[str, str | int], code: int
) -> None:
    assert peek(peer, **fields).code == code
