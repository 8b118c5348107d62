"""GET_ROUTEINFO_BY_TOPIC (105): refused until a name server is ready."""

from __future__ import annotations

import pytest

from fakemq.config.v5.model import NamesrvConfig5
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab, register, route, topic
from tests.support.peer import Peer


@pytest.fixture
def lab() -> NamesrvLab:
    return NamesrvLab()


def peer_of(lab: NamesrvLab, config: NamesrvConfig5) -> Peer:
    return lab.peer(lab.name_server(config, reference=REFERENCE))


def test_routes_are_refused_until_a_name_server_is_ready(lab: NamesrvLab) -> None:
    peer = peer_of(lab, NamesrvConfig5(need_wait_for_service=True, wait_seconds_for_service=20))
    register(peer, topic("T"), topic("U"))
    lab.clock.advance("19s 999ms")
    answer = peer.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, ext_fields={"topic": "T"})
    assert (answer.code, answer.remark) == (ResponseCode.SYSTEM_ERROR, "name server not ready")
    lab.clock.advance("1ms")
    assert route(peer, "T") is not None
