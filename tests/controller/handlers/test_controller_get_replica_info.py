"""CONTROLLER_GET_REPLICA_INFO (1004) is asked with names of any kind."""

from __future__ import annotations

import pytest

from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


@pytest.mark.parametrize("name", ["", "../..", "x" * 10_000, "\x00", "é"])
def test_odd_name_is_that_of_an_unknown_group(name: str) -> None:
    peer = ControllerLab().broker(1).peer
    code = RequestCode5.CONTROLLER_GET_REPLICA_INFO
    assert peer.ask(code, ext_fields={"brokerName": name}).code == 2008


def test_request_without_a_name_is_a_null_pointer() -> None:
    answer = ControllerLab().broker(1).peer.ask(RequestCode5.CONTROLLER_GET_REPLICA_INFO)
    assert answer.code == 1
    assert (answer.remark or "").startswith("java.util.concurrent.ExecutionException: java.lang.N")
