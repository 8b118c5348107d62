"""GET_BROKER_MEMBER_GROUP (901)."""

from __future__ import annotations

import json

from fakemq.protocol.v5.codes import RequestCode5
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, register, topic


def test_addresses_of_a_broker_name_are_returned() -> None:
    lab = NamesrvLab()
    peer = lab.peer(lab.name_server(reference=REFERENCE))
    register(peer, topic("T"), topic("U"))
    for name, addrs in (("broker-a", {"0": "10.0.0.1:10911"}), ("none", {})):
        fields = {"clusterName": "C", "brokerName": name}
        answer = peer.ask(RequestCode5.GET_BROKER_MEMBER_GROUP, ext_fields=fields)
        text = answer.body.replace(b"{0:", b'{"0":')
        group = json.loads(text)["brokerMemberGroup"]
        assert group == {"brokerAddrs": addrs, "brokerName": name, "cluster": "C"}
