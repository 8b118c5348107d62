"""UNREGISTER_BROKER (104): a request without a broker id."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, broker_fields, register, route, topic


def test_request_without_a_broker_id_removes_nothing() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    register(peer, topic("T"), topic("U"))
    fields = broker_fields()
    without = {key: value for key, value in fields.items() if key != "brokerId"}
    code = RequestCode.UNREGISTER_BROKER
    assert peer.ask(code, ext_fields=without).code == ResponseCode.SUCCESS
    assert route(peer, "T") is not None
    assert peer.ask(code, ext_fields=fields).code == ResponseCode.SUCCESS
    assert route(peer, "T") is None
