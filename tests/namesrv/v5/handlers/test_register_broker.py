"""REGISTER_BROKER (103): single topics, and slaves without a master."""

from __future__ import annotations

import pytest

from fakemq.config.v5.model import NamesrvConfig5
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5 import REFERENCE
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


@pytest.mark.parametrize("returned", [True, False])
def test_topics_in_order_are_said_to_brokers_by_default(returned: bool) -> None:
    lab = NamesrvLab()
    config = NamesrvConfig5(return_order_topic_config_to_broker=returned)
    peer = lab.peer(lab.name_server(config, reference=REFERENCE))
    fields = {"namespace": "ORDER_TOPIC_CONFIG", "key": "T", "value": "broker-a:4"}
    peer.ask(RequestCode.PUT_KV_CONFIG, ext_fields=fields)
    answer = register(peer, topic("T"), topic("U"))
    assert answer.code == ResponseCode.SUCCESS
    assert (b"broker-a:4" in answer.body) is returned
