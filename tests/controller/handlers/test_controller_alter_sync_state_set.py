"""CONTROLLER_ALTER_SYNC_STATE_SET (1001) reads any body that a peer may send."""

from __future__ import annotations

import pytest

from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


@pytest.mark.parametrize(
    "body", [b"", b"null", b"{}", b"[1]", b"nonsense", b'{"syncStateSet":["x"]}', b"[" * 9_999]
)
def test_body_that_is_no_set_is_refused_and_changes_nothing(body: bytes) -> None:
    lab = ControllerLab()
    replica = lab.broker(1).join()
    replica.elect()
    fields = {"brokerName": "broker-a", "masterBrokerId": "1", "masterEpoch": "1"}
    code = RequestCode5.CONTROLLER_ALTER_SYNC_STATE_SET
    assert replica.peer.ask(code, body=body, ext_fields=fields).code == 1
    assert lab.group.state.sync_state_infos["broker-a"].sync_state_set == {1}


def test_set_of_many_ids_is_refused_at_the_first_unknown_one() -> None:
    lab = ControllerLab()
    replica = lab.broker(1).join()
    replica.elect()
    assert replica.alter(list(range(1, 5_000)), epoch=1, set_epoch=1).code == 2003
