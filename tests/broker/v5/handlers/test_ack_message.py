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


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"topic": "no"}, 17), ({"queue_id": 2}, 13), ({"queue_id": -1}, 13), ({"offset": 3}, 208)],
)
def test_acknowledgement_of_what_is_not_there_is_refused(
    peer: Peer, popped: Popped, fields: dict[str, str | int], code: int
) -> None:
    assert ack(peer, popped, popped.messages[0], **fields).code == code


def test_refused_offset_says_which_there_are(peer: Peer, popped: Popped) -> None:
    answer = ack(peer, popped, popped.messages[0], offset=3)
    assert answer.remark == f"offset is illegal, key:{TOPIC}@0, commit:3, store:0~2"


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


def test_second_acknowledgement_is_taken_too(peer: Peer, popped: Popped) -> None:
    for _ in range(2):
        assert ack(peer, popped, popped.messages[0]).code == 0


def test_records_are_timer_messages_of_the_revive_topic(
    broker: Broker, peer: Peer, popped: Popped
) -> None:
    ack(peer, popped, popped.messages[1])
    fields, name = popped.answer.ext_fields, broker.config.broker_name
    pop_time = int(fields["popTime"])
    found = [
        message
        for topic in ("rmq_sys_REVIVE_LOG_DefaultCluster", "rmq_sys_wheel_timer")
        for message in broker.store.messages_in_queue(topic, 0)
    ]
    checkpoint = (
        f'{{"bm":0,"bn":"{name}","c":"{GROUP}","d":[0,1],"it":10000,"n":2,"pt":{pop_time},"q":0,'
        f'"reviveTime":{pop_time + 10_000},"ro":0,"so":0,"sp":false,"t":"{TOPIC}"}}'
    )
    acknowledgement = (
        f'{{"ao":1,"bn":"{name}","c":"{GROUP}","pt":{pop_time},"q":0,"so":0,"t":"{TOPIC}"}}'
    )
    assert [message.body.decode() for message in found] == [checkpoint, acknowledgement]
    ck, one = (message.properties for message in found)
    assert (ck["TAGS"], ck["TIMER_DELIVER_MS"]) == ("ck", str(pop_time + 9_000))
    assert ck["UNIQ_KEY"] == f"{TOPIC}@0@0@{GROUP}@{pop_time}@{name}@ck"
    assert (one["TAGS"], one["TIMER_DELIVER_MS"]) == ("ack", str(pop_time + 10_000))
    assert one["UNIQ_KEY"] == f"{TOPIC}@0@1@{GROUP}@{pop_time}@{name}@ack"


@pytest.mark.parametrize("revive_queue", [-1, 8, 2_000_000_000])
def test_handle_of_a_queue_that_no_revive_reads_makes_none(
    broker: Broker, peer: Peer, popped: Popped, revive_queue: int
) -> None:
    handle = popped.handle(popped.messages[0]).split(" ")
    handle[3] = str(revive_queue)
    assert ack(peer, popped, popped.messages[0], extra_info=" ".join(handle)).code == 0
    revive = "rmq_sys_REVIVE_LOG_DefaultCluster"
    assert broker.store.consume_queue(revive, revive_queue) is None
