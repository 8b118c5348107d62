"""BROKER_HEARTBEAT (904) needs no more than an id."""

from __future__ import annotations

from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


def test_heartbeat_without_names_is_one_of_a_broker_that_no_request_names() -> None:
    lab = ControllerLab()
    peer = lab.broker(1).peer
    for _ in range(2):
        answer = peer.ask(RequestCode5.BROKER_HEARTBEAT, ext_fields={"brokerId": "1"})
        assert (answer.code, answer.remark) == (0, "Heart beat success")
    peer.close()
    assert not lab.controllers[0].liveness.is_alive(None, "broker-a", 1)
