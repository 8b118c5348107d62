"""WIPE_WRITE_PERM_OF_BROKER."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from tests.support.namesrv_lab import perms, register, topic
from tests.support.peer import Peer


def wipe(peer: Peer, **fields: str) -> dict[str, str]:
    response = peer.ask(RequestCode.WIPE_WRITE_PERM_OF_BROKER, ext_fields=fields)
    assert response.code == 0
    return response.ext_fields


def test_other_bits_and_other_brokers_are_unchanged(peer: Peer) -> None:
    register(peer, topic("T"), topic("TBW102", perm=7))
    register(peer, topic("T"), name="broker-b", addr="10.0.0.2:10911")
    assert wipe(peer, brokerName="broker-a") == {"wipeTopicCount": "2"}
    assert perms(peer, "T") == {"broker-a": 4, "broker-b": 6}
    assert perms(peer, "TBW102") == {"broker-a": 5}


def test_permission_holds_until_the_data_version_changes(peer: Peer) -> None:
    register(peer, topic("T"))
    wipe(peer, brokerName="broker-a")
    register(peer, topic("T"))
    assert perms(peer, "T") == {"broker-a": 4}
    register(peer, topic("T"), counter=2)
    assert perms(peer, "T") == {"broker-a": 6}


def test_unknown_or_missing_name_has_no_topics(peer: Peer) -> None:
    register(peer, topic("T"))
    assert wipe(peer, brokerName="absent") == {"wipeTopicCount": "0"}
    assert wipe(peer) == {"wipeTopicCount": "0"}
