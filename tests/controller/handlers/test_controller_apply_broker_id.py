"""CONTROLLER_APPLY_BROKER_ID (1013) takes ids and check codes of any kind."""

from __future__ import annotations

import pytest

from fakemq.events.controller import ReplicaJoined
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab

CODE = RequestCode5.CONTROLLER_APPLY_BROKER_ID


def test_broker_that_applies_again_is_journaled_once() -> None:
    lab = ControllerLab()
    for _ in range(2):
        assert lab.broker(1).apply().code == 0
    assert len(lab.journal.find(ReplicaJoined)) == 1


@pytest.mark.parametrize("broker_id", [-(2**63), -1, 0, 2**63 - 1])
def test_number_that_no_broker_has_is_an_id_of_a_known_group(broker_id: int) -> None:
    lab = ControllerLab()
    lab.broker(1).apply()
    assert lab.broker(broker_id).apply().code == 0


@pytest.mark.parametrize("field", ["brokerName", "appliedBrokerId", "registerCheckCode"])
def test_missing_field_is_a_null_pointer(field: str) -> None:
    fields = {"brokerName": "b", "appliedBrokerId": "1", "registerCheckCode": "h:1;7"}
    del fields[field]
    assert ControllerLab().broker(1).peer.ask(CODE, ext_fields=fields).code == 1


@pytest.mark.parametrize("code", ["", ";", ";;;", "no address", "h" * 1_000])
def test_odd_check_code_is_kept_as_it_is(code: str) -> None:
    lab = ControllerLab()
    fields = {"brokerName": "b", "appliedBrokerId": "1", "registerCheckCode": code}
    assert lab.broker(1).peer.ask(CODE, ext_fields=fields).code == 0
    assert lab.group.state.replica_infos["b"].replicas[1].check_code == code
