"""UPDATE_CONTROLLER_CONFIG (1009) changes what may be changed, at one controller."""

from __future__ import annotations

import pytest

from fakemq.events.core import Warned
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab

CODE = RequestCode5.UPDATE_CONTROLLER_CONFIG


def test_controller_changes_its_own_config_only() -> None:
    lab = ControllerLab(2)
    assert lab.broker(1, at=1).peer.ask(CODE, body=b"electMasterMaxRetryCount=7\n").code == 0
    assert [one.config.elect_master_max_retry_count for one in lab.controllers] == [3, 7]


@pytest.mark.parametrize("key", ["configBlackList", "configStorePath", "rocketmqHome"])
def test_key_of_the_black_list_changes_nothing(key: str) -> None:
    lab = ControllerLab()
    body = f"{key}=x\nelectMasterMaxRetryCount=7".encode()
    answer = lab.broker(1).peer.ask(CODE, body=body)
    assert (answer.code, answer.remark) == (16, "Can not update config in black list.")
    assert lab.controllers[0].config.elect_master_max_retry_count == 3


@pytest.mark.parametrize("body", [b"other=1", b"electMasterMaxRetryCount=many"])
def test_key_or_value_that_says_nothing_is_a_warning(body: bytes) -> None:
    lab = ControllerLab()
    assert lab.broker(1).peer.ask(CODE, body=body).code == 0
    (warned,) = lab.journal.find(Warned)
    assert warned.text.startswith("UPDATE_CONTROLLER_CONFIG: ")


def test_restart_forgets_what_was_changed() -> None:
    lab = ControllerLab()
    lab.broker(1).peer.ask(CODE, body=b"notifyBrokerRoleChanged=false")
    lab.controllers[0].stop("kill")
    lab.controllers[0].start("127.0.0.1:9800")
    assert lab.controllers[0].config.notify_broker_role_changed
