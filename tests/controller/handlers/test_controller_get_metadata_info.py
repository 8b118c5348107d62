"""CONTROLLER_GET_METADATA_INFO (1005) of a controller that is alone."""

from __future__ import annotations

from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


def test_controller_that_is_alone_leads() -> None:
    answer = ControllerLab().broker(1).peer.ask(RequestCode5.CONTROLLER_GET_METADATA_INFO)
    assert answer.ext_fields == {
        "group": "g",
        "controllerLeaderId": "n0",
        "controllerLeaderAddress": "127.0.0.1:9800",
        "isLeader": "true",
        "peers": "n0:127.0.0.1:9800;",
    }
