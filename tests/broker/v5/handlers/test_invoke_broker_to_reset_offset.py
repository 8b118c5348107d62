"""INVOKE_BROKER_TO_RESET_OFFSET (222): the broker resets, and pulls and commits follow."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from tests.support.clients import GROUP, TOPIC, consume, pull, send
from tests.support.peer import Peer


@pytest.fixture(autouse=True)
def stored(broker: Broker, peer: Peer) -> None:
    """Two queues with three messages each, and a group without members."""
    broker.create_topic(TOPIC, 2)
    for queue_id in range(2):
        for _ in range(3):
            send(peer, queue_id=queue_id)
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP))


def reset(peer: Peer, **more: object) -> RemotingCommand:
    fields = {"topic": TOPIC, "group": GROUP, "timestamp": "-1", "isForce": "true"}
    fields |= {key: str(value) for key, value in more.items()}
    return peer.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, ext_fields=fields)


def commit(peer: Peer, offset: int, **more: str) -> RemotingCommand:
    fields = {"consumerGroup": GROUP, "topic": TOPIC, "queueId": "0", "commitOffset": str(offset)}
    return peer.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext_fields=fields | more)


def test_reset_moves_all_queues_without_a_member(broker: Broker, peer: Peer) -> None:
    answer = reset(peer)
    assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert b'"queueId":1,"topic":"orders"}:3' in answer.body
    assert [broker.offsets.query(GROUP, TOPIC, queue_id) for queue_id in range(2)] == [3, 3]


def test_reset_moves_the_next_pull_and_commits_wait_for_it(broker: Broker, peer: Peer) -> None:
    consume(peer)
    reset(peer, queueId=0, offset=2)
    answer = commit(peer, 1)
    assert answer.code == ResponseCode.SUCCESS
    assert answer.remark == "Offset has been previously reset"
    moved = pull(peer, 0)
    assert (moved.code, moved.remark) == (ResponseCode.PULL_OFFSET_MOVED, "OFFSET_RESET")
    assert moved.ext_fields["nextBeginOffset"] == "2"
    assert (moved.ext_fields["minOffset"], moved.ext_fields["maxOffset"]) == ("0", "3")
    assert pull(peer, 2).code == ResponseCode.SUCCESS
    assert commit(peer, 3).remark is None
    assert broker.offsets.query(GROUP, TOPIC, 0) == 3


def test_reset_is_refused_without_topic_group_or_range(broker: Broker, peer: Peer) -> None:
    for fields, code, text in (
        ({"topic": "none"}, ResponseCode.TOPIC_NOT_EXIST, "Topic none does not exist"),
        ({"group": "none"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "Group none does not exist"),
        (
            {"queueId": "0", "offset": "5"},
            ResponseCode.SYSTEM_ERROR,
            "Target offset 5 not in consume queue range [0-3]",
        ),
    ):
        answer = reset(peer, **fields)
        assert (answer.code, answer.remark) == (code, text)
    broker.config.set_property("useServerSideResetOffset", "false")
    broker.offsets.commit(GROUP, TOPIC, 0, 0)
    broker.offsets.commit(GROUP, TOPIC, 1, 0)
    assert reset(peer).code == ResponseCode.CONSUMER_NOT_ONLINE


def test_reset_of_endlessly_many_queues_is_refused(broker: Broker, peer: Peer) -> None:
    broker.create_topic(TOPIC, 2**31 - 1)
    answer = reset(peer)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").endswith("fakemq looks into 10000 in one request at most")


def test_broker_reset_forgets_what_is_pending(broker: Broker, peer: Peer) -> None:
    reset(peer)
    broker.reset()
    broker.create_topic(TOPIC, 2)
    broker.groups.update(SubscriptionGroupConfig(group_name=GROUP))
    assert commit(peer, 0).remark is None
