"""REGISTER_BROKER (103): single topics, and slaves without a master."""

from __future__ import annotations

from fakemq.protocol.codes import ResponseCode
from fakemq.reference.v5_5_0 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, register, route, topic


def test_single_topic_needs_a_registered_broker() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    answer = register(peer, topic("T"))
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "register broker failed")
    assert route(peer, "T") is None
    assert register(peer, topic("T"), topic("U")).code == ResponseCode.SUCCESS
    assert register(peer, topic("V"), counter=2).code == ResponseCode.SUCCESS
    assert route(peer, "V") is not None
