"""A reset while consumers stay connected."""

from __future__ import annotations

import pytest

from bench.census import census
from fakemq.broker.broker import Broker
from fakemq.broker.clients.client_channel import CHANNEL_EXPIRED_TIMEOUT_MS
from fakemq.events import PullWoken
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.offset import UpdateConsumerOffsetRequestHeader
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.broker_lab import BrokerLab
from tests.support.clients import GROUP, TOPIC, consume, long_pull, pull, send
from tests.support.peer import Peer


@pytest.fixture
def producer(lab: BrokerLab, broker: Broker) -> Peer:
    return lab.peer(broker.addr, "producer")


def next_offset(response: RemotingCommand | None) -> int:
    assert response is not None
    return int(response.ext_fields["nextBeginOffset"])


def commit(peer: Peer, offset: int) -> None:
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=GROUP, topic=TOPIC, queue_id=0, commit_offset=offset
    )
    peer.oneway(RequestCode.UPDATE_CONSUMER_OFFSET, header)


def test_held_pull_is_answered_with_the_new_offset_after_a_reset(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    for _ in range(3):
        send(producer)
    assert next_offset(pull(peer)) == 3
    answer = long_pull(peer, 3)
    broker.reset()
    assert not answer.over
    lab.network.settle()
    assert answer.response is not None
    assert answer.response.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert next_offset(answer.response) == 0
    again = long_pull(peer, 0)  # the topic is gone: for a known reader it counts as empty
    assert not again.over
    send(producer)
    assert again.response is not None
    assert again.response.code == ResponseCode.SUCCESS
    assert next_offset(again.response) == 1


def test_first_held_pull_is_answered_with_the_new_offset_too(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    send(producer)
    answer = long_pull(peer, 1)
    broker.reset()
    lab.network.settle()
    assert answer.response is not None
    assert answer.response.code == ResponseCode.PULL_RETRY_IMMEDIATELY


def test_pull_held_at_offset_0_stays_held(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    broker.create_topic(TOPIC, 1)
    answer = long_pull(peer, 0)
    broker.reset()
    lab.network.settle()
    assert not answer.over
    assert len(broker.holds.snapshot()) == 1
    assert lab.journal.find(PullWoken) == []
    send(producer)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS


def test_next_pull_after_a_reset_is_moved_once(broker: Broker, peer: Peer, producer: Peer) -> None:
    send(producer)
    pull(peer)
    broker.reset()
    for _ in range(3):
        send(producer)
    response = pull(peer, 1)
    assert response.code == ResponseCode.PULL_RETRY_IMMEDIATELY
    assert response.remark == "NO_MATCHED_MESSAGE"
    assert response.ext_fields == {
        "suggestWhichBrokerId": "0",
        "nextBeginOffset": "0",
        "minOffset": "0",
        "maxOffset": "3",
    }
    assert pull(peer, 1).code == ResponseCode.SUCCESS  # asked for again: meant


def test_pull_from_offset_0_is_not_moved(broker: Broker, peer: Peer, producer: Peer) -> None:
    send(producer)
    pull(peer)
    broker.reset()
    send(producer)
    assert pull(peer, 0).code == ResponseCode.SUCCESS
    assert pull(peer, 1).code == ResponseCode.PULL_NOT_FOUND


def test_unknown_reader_is_answered_as_usual(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    send(producer)
    pull(peer)
    broker.reset()
    other = lab.peer(broker.addr)
    assert pull(other, 1, consumer_group="strangers").code == ResponseCode.TOPIC_NOT_EXIST
    assert pull(peer, 1, queue_id=1).code == ResponseCode.TOPIC_NOT_EXIST
    send(producer)
    assert pull(other, 7).code == ResponseCode.PULL_OFFSET_MOVED


def test_old_offsets_are_moved_to_those_returned_since_the_reset(
    broker: Broker, peer: Peer, producer: Peer
) -> None:
    for _ in range(5):
        send(producer)
    pull(peer)
    commit(peer, 5)
    assert broker.offsets.query(GROUP, TOPIC, 0) == 5
    broker.reset()
    commit(peer, 5)  # a Java client commits every 5 s, whatever the answer
    assert broker.offsets.query(GROUP, TOPIC, 0) == 0
    send(producer)
    send(producer)
    flags = PullSysFlag.SUBSCRIPTION | PullSysFlag.COMMIT_OFFSET
    assert next_offset(pull(peer, 5, sys_flag=flags, commit_offset=5)) == 0
    assert next_offset(pull(peer, 0, sys_flag=flags, commit_offset=5)) == 2
    assert broker.offsets.query(GROUP, TOPIC, 0) == 0
    commit(peer, 5)
    assert broker.offsets.query(GROUP, TOPIC, 0) == 2
    commit(peer, 1)
    assert broker.offsets.query(GROUP, TOPIC, 0) == 1


def test_complete_consumer_survives_two_resets(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    consume(peer)
    offset = 0
    for _ in range(2):
        for _ in range(4):
            send(producer)
        while True:
            response = pull(peer, offset, sys_flag=0)
            offset = next_offset(response)
            if response.code == ResponseCode.PULL_NOT_FOUND:
                break
        assert offset == 4
        broker.reset()
        response = pull(peer, offset, sys_flag=0)
        assert response.code == ResponseCode.PULL_RETRY_IMMEDIATELY
        offset = next_offset(response)
        assert offset == 0


def test_closed_connections_leave_nothing_behind(
    lab: BrokerLab, broker: Broker, producer: Peer
) -> None:
    send(producer)
    peer = lab.peer(broker.addr)
    pull(peer)
    session = next(s for s in broker.sessions if s.remote_addr == peer.session.link.local_addr)
    assert broker.positions.find(session, GROUP, TOPIC, 0, 0) is not None
    peer.close()
    assert broker.positions.find(session, GROUP, TOPIC, 0, 0) is None


def test_reader_on_a_new_connection_is_moved_too(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    for _ in range(3):
        send(producer)
    assert next_offset(pull(peer)) == 3
    broker.kill()
    broker.start()
    broker.reset()
    again, sender = lab.peer(broker.addr), lab.peer(broker.addr)
    commit(again, 3)
    broker.create_topic(TOPIC, 1)
    send(sender)
    response = pull(again, 3)
    assert (response.code, next_offset(response)) == (ResponseCode.PULL_RETRY_IMMEDIATELY, 0)
    assert next_offset(pull(again, 0)) == 1
    assert broker.offsets.query(GROUP, TOPIC, 0) in (-1, 0)


def test_long_absent_reader_is_forgotten_at_the_next_reset(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    for _ in range(3):
        send(producer)
    assert next_offset(pull(peer)) == 3
    peer.close()
    broker.reset()

    def code_at_3() -> int:
        broker.create_topic(TOPIC, 1)
        return pull(lab.peer(broker.addr), 3).code

    lab.clock.advance_ms(CHANNEL_EXPIRED_TIMEOUT_MS // 2, outside_peers=True)
    broker.reset()
    assert code_at_3() == ResponseCode.PULL_RETRY_IMMEDIATELY
    lab.clock.advance_ms(CHANNEL_EXPIRED_TIMEOUT_MS, outside_peers=True)
    assert code_at_3() == ResponseCode.PULL_RETRY_IMMEDIATELY  # time alone takes nothing
    broker.reset()
    assert code_at_3() == ResponseCode.PULL_OFFSET_MOVED


def test_absent_readers_do_not_accumulate(lab: BrokerLab, broker: Broker, producer: Peer) -> None:
    sizes = []
    for life in range(10):
        for reader in range(5):
            send(producer)
            peer = lab.peer(broker.addr)
            pull(peer, consumer_group=f"only in {life}, {reader}")
            peer.close()
        lab.clock.advance_ms(CHANNEL_EXPIRED_TIMEOUT_MS // 2 + 1, outside_peers=True)
        broker.reset()
        sizes.append(sum(census(broker.positions).values()))
    assert sizes[1] > sizes[0]
    assert len(set(sizes[1:])) == 1


def test_restart_alone_moves_no_reader(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    for _ in range(3):
        send(producer)
    assert next_offset(pull(peer)) == 3
    broker.kill()
    broker.start()
    response = pull(lab.peer(broker.addr), 2)
    assert (response.code, next_offset(response)) == (ResponseCode.SUCCESS, 3)


def test_new_reader_after_a_reset_continues_at_the_groups_offset(
    lab: BrokerLab, broker: Broker, peer: Peer, producer: Peer
) -> None:
    for _ in range(3):
        send(producer)
    assert next_offset(pull(peer)) == 3
    broker.reset()
    broker.create_topic(TOPIC, 1)
    send(producer)
    send(producer)
    pull(peer, 3)
    assert next_offset(pull(peer, 0)) == 2
    response = pull(lab.peer(broker.addr), 1)
    assert (response.code, next_offset(response)) == (ResponseCode.SUCCESS, 2)
