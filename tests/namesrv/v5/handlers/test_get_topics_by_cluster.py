"""GET_TOPICS_BY_CLUSTER (224): refused when it is switched off."""

from __future__ import annotations

from fakemq.config.v5.model import NamesrvConfig5
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab


def test_list_is_refused_only_when_its_switch_is_off() -> None:
    for config, refused in (
        (NamesrvConfig5(enable_topic_list=False), True),
        (NamesrvConfig5(enable_all_topic_list=False), False),
    ):
        lab = NamesrvLab()
        peer = lab.peer(lab.name_server(config, reference=REFERENCE))
        answer = peer.ask(
            RequestCode.GET_TOPICS_BY_CLUSTER, ext_fields={"cluster": "DefaultCluster"}
        )
        if refused:
            assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "disable")
        else:
            assert answer.code == ResponseCode.SUCCESS
