"""BROKER_HEARTBEAT (904)."""

from __future__ import annotations

from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, broker_fields, register, route, topic


def test_heartbeat_keeps_a_broker_alive() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    register(peer, topic("T"), topic("U"))
    for _ in range(5):
        lab.clock.advance("60s")
        answer = peer.ask(RequestCode5.BROKER_HEARTBEAT, ext_fields=broker_fields())
        assert (answer.code, answer.remark) == (ResponseCode.SUCCESS, None)
    assert route(peer, "T") is not None


def test_heartbeat_of_an_unknown_broker_succeeds() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    answer = peer.ask(RequestCode5.BROKER_HEARTBEAT, ext_fields=broker_fields())
    assert answer.code == ResponseCode.SUCCESS
