"""CONTROLLER_GET_NEXT_BROKER_ID (1012) counts applications."""

from __future__ import annotations

from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


def test_next_id_follows_the_number_of_applications() -> None:
    lab = ControllerLab()
    lab.broker(1).apply()
    far = lab.broker(7)
    far.apply()
    fields = {"brokerName": "broker-a"}
    answer = far.peer.ask(RequestCode5.CONTROLLER_GET_NEXT_BROKER_ID, ext_fields=fields)
    assert answer.ext_fields == {"brokerName": "broker-a", "nextBrokerId": "3"}
