"""QUERY_DATA_VERSION."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from tests.support.namesrv_lab import NamesrvLab, broker_fields, register, route, topic
from tests.support.peer import Peer

SAME = b'{"counter":1,"timestamp":7}'


def query(peer: Peer, body: bytes) -> RemotingCommand:
    return peer.ask(RequestCode.QUERY_DATA_VERSION, body=body, ext_fields=broker_fields())


def test_unknown_broker_counts_as_changed(peer: Peer) -> None:
    response = query(peer, SAME)
    assert (response.code, response.ext_fields, response.body) == (0, {"changed": "true"}, b"")


def test_unchanged_version_counts_as_a_registration(lab: NamesrvLab, peer: Peer) -> None:
    register(peer, topic("T"))
    for _ in range(10):
        lab.clock.advance("60s")
        query(peer, SAME)
    assert route(peer, "T") is not None


def test_changed_version_does_not_keep_a_broker_alive(lab: NamesrvLab, peer: Peer) -> None:
    register(peer, topic("T"))
    asker = lab.peer()
    for _ in range(3):
        lab.clock.advance("60s")
        query(asker, b'{"counter":2,"timestamp":7}')
    assert route(asker, "T") is None


def test_missing_body_is_code_1(peer: Peer) -> None:
    register(peer, topic("T"))
    assert query(peer, b"").code == 1


def test_null_is_another_version(peer: Peer) -> None:
    register(peer, topic("T"))
    for body in (b"null", b"[]"):
        response = query(peer, body)
        assert (response.code, response.ext_fields) == (0, {"changed": "true"})
