"""A request that names very many topics is read once, and checked in slices."""

from __future__ import annotations

import json

import pytest

from fakemq.broker.acl.access import AccessControl
from fakemq.broker.acl.homes import MemoryHome
from fakemq.broker.acl.permission_manager import READ_AT_ONCE_BYTES
from fakemq.broker.acl.rights import Rights
from fakemq.broker.broker import Broker
from fakemq.clock.slices import A_STEP
from fakemq.events import AccessRefused
from fakemq.events.core import HandlerFailed
from fakemq.protocol.bodies.body import Body
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.limits import PEER_JSON, JsonLimits
from fakemq.protocol.signature import Credentials
from fakemq.reference import V4_9_7
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab
from tests.support.peer import Answer, Peer
from tests.support.slices import take_turns, work_in_turns

MAY, MAY_NOT = Credentials("may-read", "12345678"), Credentials("may-nothing", "12345678")
RULES = {
    "accounts": [
        {
            "accessKey": MAY.access_key,
            "secretKey": MAY.secret_key,
            "defaultTopicPerm": "SUB",
            "defaultGroupPerm": "SUB",
        },
        {"accessKey": MAY_NOT.access_key, "secretKey": MAY_NOT.secret_key},
    ]
}
MANY = 10_000
TOPICS = [f"topic-{number}" for number in range(MANY)]


@pytest.fixture(params=[V4_9_7, REFERENCE], ids=["4.9.7", "5.5.0"])
def guarded(request: pytest.FixtureRequest, lab: BrokerLab) -> Broker:
    broker = lab.broker(reference=request.param)
    rights = Rights(v5=request.param is REFERENCE)
    broker.acl = AccessControl(broker.node, MemoryHome(RULES), rights)
    broker.acl.start()
    return broker


@pytest.fixture
def outside(lab: BrokerLab, guarded: Broker) -> Peer:
    return lab.outside_peer(guarded)


def beat(peer: Peer, keys: Credentials, topics: list[str] = TOPICS) -> Answer:
    data = {"groupName": "g", "subscriptionDataSet": [{"topic": one} for one in topics]}
    body = json.dumps({"clientID": "c", "consumerDataSet": [data]}).encode()
    command = RemotingCommand(RequestCode.HEART_BEAT, body=body)
    keys.sign(command)
    return peer.send_command(command)


def test_allowed_heartbeat_is_decoded_once(
    guarded: Broker, outside: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[type] = []
    decode = Body.decode.__func__  # type: ignore[attr-defined]

    def noting(cls: type[Body], data: bytes, *, limits: JsonLimits = PEER_JSON) -> Body:
        decoded.append(cls)
        bean: Body = decode(cls, data, limits=limits)
        return bean

    monkeypatch.setattr(Body, "decode", classmethod(noting))
    answer = beat(outside, MAY, TOPICS[:3])
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS
    assert set(guarded.consumers.subscriptions("g") or ()) == set(TOPICS[:3])
    assert len(decoded) == 1


def test_allowed_heartbeat_of_very_many_topics_is_checked_in_slices(
    lab: BrokerLab, guarded: Broker, outside: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_in_turns(lab.clock, monkeypatch)
    answer = beat(outside, MAY)
    assert not answer.over
    assert guarded.consumers.group("g") is None
    # To merge what it needs and to compare it with the rules, by steps of a millisecond.
    assert take_turns(lab.clock) >= 2 * MANY // A_STEP // 10
    lab.network.settle()
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS
    assert set(guarded.consumers.subscriptions("g") or ()) == set(TOPICS)
    (session,) = guarded.sessions
    assert session.account == MAY.access_key


def test_heartbeat_of_very_many_topics_without_a_right_is_refused_as_a_short_one(
    lab: BrokerLab, guarded: Broker, outside: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for topics in (TOPICS[:1], TOPICS):
        work_in_turns(lab.clock, monkeypatch)
        answer = beat(outside, MAY_NOT, topics)
        take_turns(lab.clock)
        lab.network.settle()
        assert answer.response is not None
        assert answer.response.code == ResponseCode.SYSTEM_ERROR
        said.append((answer.response.remark or "").partition(":")[0])
    assert said[0] == said[1]
    assert len(lab.journal.find(AccessRefused)) == 2
    assert guarded.consumers.group("g") is None


def test_unreadable_body_is_refused_in_slices_too(
    lab: BrokerLab, outside: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_in_turns(lab.clock, monkeypatch)
    command = RemotingCommand(RequestCode.HEART_BEAT, body=b"[" * (READ_AT_ONCE_BYTES + 1))
    MAY.sign(command)
    answer = outside.send_command(command)
    take_turns(lab.clock)
    lab.network.settle()
    assert answer.response is not None
    assert "AclException" in (answer.response.remark or "")
    assert not lab.journal.find(HandlerFailed)


def test_connection_that_closes_meanwhile_joins_no_group(
    lab: BrokerLab, guarded: Broker, outside: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_in_turns(lab.clock, monkeypatch)
    beat(outside, MAY)
    outside.close()
    take_turns(lab.clock)
    assert guarded.consumers.group("g") is None
    assert guarded.node.clock.unfinished_count == 0
