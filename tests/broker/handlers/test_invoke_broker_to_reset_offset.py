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


def test_absent_group_is_called_null(peer: Peer, topic: str) -> None:
    code = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
    assert "no topic" in (peer.ask(code, ext_fields={"topic": "nowhere"}).remark or "")
    response = peer.ask(code, ext_fields={"topic": topic})
    assert response.remark == "THe consumer group <null> not exist"


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
