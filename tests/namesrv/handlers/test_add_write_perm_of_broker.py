"""ADD_WRITE_PERM_OF_BROKER."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import perms, register, topic
from tests.support.peer import Peer


def add(peer: Peer, **fields: str) -> dict[str, str]:
    response = peer.ask(RequestCode.ADD_WRITE_PERM_OF_BROKER, ext_fields=fields)
    assert response.code == 0
    return response.ext_fields


def test_permission_becomes_6(peer: Peer) -> None:
    register(peer, topic("T", perm=4), topic("TBW102", perm=7))
    register(peer, topic("T", perm=4), name="broker-b", addr="10.0.0.2:10911")
    assert add(peer, brokerName="broker-a") == {"addTopicCount": "2"}
    assert perms(peer, "T") == {"broker-a": 6, "broker-b": 4}
    assert perms(peer, "TBW102") == {"broker-a": 6}


def test_unknown_or_missing_name_has_no_topics(peer: Peer) -> None:
    register(peer, topic("T"))
    assert add(peer, brokerName="absent") == {"addTopicCount": "0"}
    assert add(peer) == {"addTopicCount": "0"}
