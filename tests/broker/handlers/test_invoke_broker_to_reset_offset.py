"""INVOKE_BROKER_TO_RESET_OFFSET: every branch, as a real broker took it."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.broker.handlers.invoke_broker_to_reset_offset import reset_by_clients
from fakemq.dispatch.answers import Refused
from fakemq.events import OffsetReset
from fakemq.protocol.codes import LanguageCode, RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, beat, consume, consumer_data, send
from tests.support.peer import Peer

CODE = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
QUEUES = 2
LATE_MS = 99_999_999_999_999


@pytest.fixture
def topic(lab: BrokerLab, broker: Broker, peer: Peer) -> str:
    """Two queues with six messages each, of which the group has consumed three."""
    broker.create_topic(TOPIC, QUEUES)
    for queue_id in range(QUEUES):
        for _ in range(6):
            send(peer, queue_id=queue_id)
        broker.offsets.commit(GROUP, TOPIC, queue_id, 3)
    lab.clock.advance("1s")
    return TOPIC


@pytest.fixture
def consumer(lab: BrokerLab, broker: Broker) -> Peer:
    peer = lab.peer(broker.addr, "consumer")
    consume(peer)
    peer.requests.clear()
    return peer


def reset(
    peer: Peer, language: LanguageCode = LanguageCode.JAVA, **more: object
) -> RemotingCommand:
    fields = {"topic": TOPIC, "group": GROUP, "timestamp": "0", "isForce": "true"}
    fields |= {key: str(value) for key, value in more.items()}
    answer = peer.send_command(RemotingCommand(CODE, ext_fields=fields, language=language))
    assert answer.response is not None
    return answer.response


def body(offset: int) -> bytes:
    """A map of queues, in the order of Java's hash map."""
    queues = ",".join(
        f'{{"brokerName":"broker-a","queueId":{queue_id},"topic":"orders"}}:{offset}'
        for queue_id in range(QUEUES)
    )
    return f'{{"offsetTable":{{{queues}}}}}'.encode()


@pytest.mark.parametrize(
    ("timestamp", "force", "offset"),
    [
        (0, True, 0),
        (0, False, 0),
        (-1, True, 6),
        (-1, False, 3),
        (LATE_MS, True, 5),
        (LATE_MS, False, 3),
    ],
)
def test_members_are_sent_their_new_offsets(
    peer: Peer, topic: str, consumer: Peer, timestamp: int, force: bool, offset: int
) -> None:
    response = reset(peer, timestamp=timestamp, isForce=str(force).lower())
    assert (response.code, response.remark) == (
        ResponseCode.SUCCESS,
        "not set any response code",
    )
    (notified,) = consumer.requests
    assert notified.code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET
    assert notified.is_oneway
    assert notified.ext_fields == {
        "topic": TOPIC,
        "group": GROUP,
        "timestamp": str(timestamp),
        "isForce": "false",
    }
    assert response.body == notified.body == body(offset)


def test_broker_keeps_its_committed_offsets(
    broker: Broker, peer: Peer, topic: str, consumer: Peer
) -> None:
    reset(peer)
    assert broker.offsets.query(GROUP, TOPIC, 0) == 3


def test_cpp_client_receives_a_list(peer: Peer, topic: str, consumer: Peer) -> None:
    response = reset(peer, LanguageCode.CPP)
    assert response.body == body(0)
    assert consumer.requests[0].body == (
        b'{"offsetTable":['
        b'{"brokerName":"broker-a","offset":0,"queueId":0,"topic":"orders"},'
        b'{"brokerName":"broker-a","offset":0,"queueId":1,"topic":"orders"}]}'
    )


def test_unknown_topic_is_refused(peer: Peer, consumer: Peer) -> None:
    response = reset(peer, topic="nowhere")
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "[reset-offset] reset offset failed, no topic in this broker. topic=nowhere",
    )


def test_absent_group_is_called_null(peer: Peer, topic: str) -> None:
    code = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
    assert "no topic" in (peer.ask(code, ext_fields={"topic": "nowhere"}).remark or "")
    response = peer.ask(code, ext_fields={"topic": topic})
    assert response.remark == "THe consumer group <null> not exist"


def test_request_fails_when_one_queue_has_no_committed_offset(
    broker: Broker, peer: Peer, topic: str, consumer: Peer
) -> None:
    broker.create_topic(TOPIC, QUEUES + 1)
    response = reset(peer)
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "THe consumer group <billing> not exist",
    )
    assert consumer.requests == []


def test_group_without_members_is_refused(peer: Peer, topic: str) -> None:
    response = reset(peer, timestamp=5)
    assert (response.code, response.remark) == (
        ResponseCode.CONSUMER_NOT_ONLINE,
        "Consumer not online, so can not reset offset, Group: billing Topic: orders Timestamp: 5",
    )


def test_client_before_3_0_7_fails_the_request(
    lab: BrokerLab, broker: Broker, peer: Peer, topic: str, consumer: Peer
) -> None:
    old, last = (lab.peer(broker.addr, name) for name in ("old", "last"))
    beat(old, "old", consumers=[consumer_data()], version=20)
    consume(last, "last")
    for one in (consumer, old, last):
        one.requests.clear()
    response = reset(peer)
    assert (response.code, response.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "the client does not support this feature. version=V3_0_3_SNAPSHOT",
    )
    assert [len(one.requests) for one in (consumer, old, last)] == [1, 0, 0]


def resets(lab: BrokerLab) -> list[int]:
    return [one.event.queue_id for one in lab.journal if isinstance(one.event, OffsetReset)]


def test_event_is_written_where_a_member_is_notified(
    lab: BrokerLab, broker: Broker, peer: Peer, topic: str, consumer: Peer
) -> None:
    reset(peer)
    assert resets(lab) == [0, 1]


def test_old_member_alone_is_no_reset(
    lab: BrokerLab, broker: Broker, peer: Peer, topic: str
) -> None:
    beat(lab.peer(broker.addr, "old"), "old", consumers=[consumer_data()], version=20)
    assert reset(peer).code == ResponseCode.SYSTEM_ERROR
    assert resets(lab) == []


@pytest.mark.parametrize("steps", range(20))
def test_group_whose_members_leave_meanwhile_is_not_online(
    lab: BrokerLab, broker: Broker, peer: Peer, topic: str, consumer: Peer, steps: int
) -> None:
    header = ResetOffsetRequestHeader(topic=TOPIC, group=GROUP, timestamp=0, is_force=True)
    work = reset_by_clients(broker, LanguageCode.JAVA, header)
    code = ResponseCode.SUCCESS
    try:
        for _ in range(steps):
            next(work)
        lab.network.settle()
        consumer.session.close("gone")
        lab.network.settle()
        assert broker.consumers.group(GROUP) is None
        while True:
            next(work)
    except StopIteration:
        pass
    except Refused as error:
        code = ResponseCode(error.code)
    lab.network.settle()
    notified = bool(consumer.requests)
    assert code == (ResponseCode.SUCCESS if notified else ResponseCode.CONSUMER_NOT_ONLINE)
    assert bool(resets(lab)) == notified
