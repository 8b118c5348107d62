"""HEART_BEAT (34): what the answers to both forms say."""

from __future__ import annotations

import json

from fakemq.broker.broker import Broker
from fakemq.files.texts import MemoryTextFile
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from tests.support.clients import GROUP, TOPIC, consume, consumer_data
from tests.support.peer import Peer


def beat(peer: Peer, fingerprint: int, **more: object) -> RemotingCommand:
    heartbeat = {
        "clientID": "client-1",
        "consumerDataSet": [consumer_data() | more],
        "heartbeatFingerprint": fingerprint,
        "withoutSub": "subscriptionDataSet" in more,
        "producerDataSet": [],
    }
    return peer.ask(RequestCode.HEART_BEAT, body=json.dumps(heartbeat).encode())


def test_first_form_always_says_changed(peer: Peer) -> None:
    for _ in range(2):
        answer = consume(peer)
        assert answer.code == ResponseCode.SUCCESS
        assert answer.ext_fields == {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "true"}


def test_second_form_says_whether_the_fingerprint_changed(peer: Peer) -> None:
    said = [beat(peer, number).ext_fields["IS_SUB_CHANGE"] for number in (7, 7, 8, 8)]
    assert said == ["false", "false", "true", "false"]


def test_heartbeat_without_subscriptions_keeps_them(broker: Broker, peer: Peer) -> None:
    beat(peer, 7)
    beat(peer, 7, subscriptionDataSet=[])
    subscriptions = broker.consumers.subscriptions(GROUP)
    assert subscriptions is not None
    assert TOPIC in subscriptions


def test_heartbeat_of_many_groups_writes_their_table_once(broker: Broker, peer: Peer) -> None:
    texts: list[str] = []

    class Written(MemoryTextFile):
        def write(self, text: str) -> None:
            texts.append(text)

    broker.persistence.groups.file = Written("subscriptionGroup.json")
    groups = [consumer_data() | {"groupName": f"group-{number}"} for number in range(20)]
    heartbeat = {"clientID": "client-1", "consumerDataSet": groups, "producerDataSet": []}
    peer.ask(RequestCode.HEART_BEAT, body=json.dumps(heartbeat).encode())
    assert broker.groups.find("group-19") is not None
    assert len(texts) == 1
