"""DELETE_SUBSCRIPTIONGROUP (207)."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.peer import Peer


def test_offsets_of_a_deleted_group_go_with_clean_offset_only(broker: Broker, peer: Peer) -> None:
    broker.offsets.commit("G", "TBW102", 0, 3)
    fields = {"groupName": "G", "removeOffset": "true"}
    assert peer.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext_fields=fields).code == 0
    assert broker.offsets.query("G", "TBW102", 0) == 3
    fields = {"groupName": "G", "cleanOffset": "true"}
    assert peer.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext_fields=fields).code == 0
    assert broker.offsets.query("G", "TBW102", 0) == -1
