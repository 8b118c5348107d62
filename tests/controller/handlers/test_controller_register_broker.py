"""CONTROLLER_REGISTER_BROKER (1003) notes where a broker is now."""

from __future__ import annotations

from fakemq.events.controller import ReplicaMoved
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


def test_broker_that_moved_is_journaled_once() -> None:
    lab = ControllerLab()
    replica = lab.broker(1).join()
    fields = {"brokerName": "broker-a", "clusterName": "c", "brokerId": "1"}
    for _ in range(2):
        code = RequestCode5.CONTROLLER_REGISTER_BROKER
        moved = fields | {"brokerAddress": "10.0.0.9:1"}
        assert replica.peer.ask(code, ext_fields=moved).code == 0
    assert [one.broker_addr for one in lab.journal.find(ReplicaMoved)] == ["10.0.0.9:1"]
