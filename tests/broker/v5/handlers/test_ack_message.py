"""ACK_MESSAGE: what is refused, and what is written."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.headers.pop import AckMessageRequestHeader
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.peer import Peer
from tests.support.pops import GROUP, TOPIC, Popped, ack, pop, send


@pytest.fixture(autouse=True)
def topic(broker: Broker) -> None:
    broker.create_topic(TOPIC, 2)


@pytest.fixture
def popped(peer: Peer) -> Popped:
    """Two messages of queue 0."""
    send(peer, b"a")
    send(peer, b"b")
    return Popped(pop(peer))


def test_acknowledgement_by_a_broken_handle_is_code_1(peer: Peer, popped: Popped) -> None:
    answer = ack(peer, popped, popped.messages[0], extra_info="1 2 3")
    assert answer.code == 1
    assert answer.remark is not None
    assert answer.remark.startswith(
        "java.lang.IllegalArgumentException: getBrokerName fail, extraInfoStrs length 3"
    )


def test_acknowledgement_without_a_group_is_taken(peer: Peer, popped: Popped) -> None:
    header = AckMessageRequestHeader(
        topic=TOPIC, queue_id=0, offset=0, extra_info=popped.handle(popped.messages[0])
    )
    assert peer.ask(RequestCode5.ACK_MESSAGE, header).code == 0


def test_acknowledgement_without_a_handle_is_code_1(peer: Peer) -> None:
    header = AckMessageRequestHeader(consumer_group=GROUP, topic=TOPIC, queue_id=0, offset=0)
    answer = peer.ask(RequestCode5.ACK_MESSAGE, header)
    assert answer.remark is not None
    assert answer.remark.startswith("java.lang.IllegalArgumentException: split extraInfo is null")


@pytest.mark.parametrize("revive_queue", [-1, 8, 2_000_000_000])
def test_handle_of_a_queue_that_no_revive_reads_makes_none(
    broker: Broker, peer: Peer, popped: Popped, revive_queue: int
) -> None:
    handle = popped.handle(popped.messages[0]).split(" ")
    handle[3] = str(revive_queue)
    assert ack(peer, popped, popped.messages[0], extra_info=" ".join(handle)).code == 0
    revive = "rmq_sys_REVIVE_LOG_DefaultCluster"
    assert broker.store.consume_queue(revive, revive_queue) is None
