"""CONTROLLER_GET_SYNC_STATE_DATA (1006) is done in slices, however many groups are asked for."""

from __future__ import annotations

import json

import pytest

from fakemq.config.v5.controller.model import ControllerConfig
from fakemq.controller.events import ApplyBrokerIdEvent
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


def test_thousands_of_groups_are_answered() -> None:
    lab = ControllerLab()
    names = [f"g{number}" for number in range(3_000)]
    for name in names:
        event = ApplyBrokerIdEvent(
            cluster_name="c",
            broker_name=name,
            broker_address="h:1",
            new_broker_id=1,
            register_check_code="h:1;7",
        )
        lab.group.commit([event])
    body = json.dumps([*names, "unknown", names[0]]).encode()
    answer = lab.broker(1).peer.ask(RequestCode5.CONTROLLER_GET_SYNC_STATE_DATA, body=body)
    assert answer.code == 0
    assert json.loads(answer.body)["replicasInfoTable"].keys() == set(names)


@pytest.mark.parametrize("body", [b"", b"[]", b"null"])
def test_body_without_names_has_no_answer_of_its_own(body: bytes) -> None:
    answer = (
        ControllerLab().broker(1).peer.ask(RequestCode5.CONTROLLER_GET_SYNC_STATE_DATA, body=body)
    )
    assert (answer.code, answer.remark) == (1, "not set any response code")


@pytest.mark.parametrize("body", [b"[1]", b'{"a":"b"}', b"[null]", b'"a"', b"nonsense"])
def test_body_of_something_else_is_refused(body: bytes) -> None:
    peer = ControllerLab().broker(1).peer
    assert peer.ask(RequestCode5.CONTROLLER_GET_SYNC_STATE_DATA, body=body).code == 1


def test_read_of_a_leader_without_majority_is_in_vain_if_reads_go_to_the_log() -> None:
    for process_read_event in (False, True):
        lab = ControllerLab(3, ControllerConfig(process_read_event=process_read_event))
        for one in lab.controllers[1:]:
            one.stop("kill")
        answer = lab.broker(1).peer.send(
            RequestCode5.CONTROLLER_GET_SYNC_STATE_DATA, body=b'["broker-a"]', timeout_ms=20_000
        )
        assert answer.over is not process_read_event
        lab.clock.advance_ms(5_000)
        assert answer.response is not None
        assert answer.response.code == int(process_read_event)
