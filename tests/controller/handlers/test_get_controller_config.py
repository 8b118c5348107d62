"""GET_CONTROLLER_CONFIG (1010) has the keys of the controller and of its server."""

from __future__ import annotations

from fakemq.config.v5.controller.model import ControllerConfig
from fakemq.protocol.v5.codes import RequestCode5
from tests.support.controller_lab import ControllerLab


def test_answer_has_the_names_of_javas_fields_and_no_key_of_jraft() -> None:
    lab = ControllerLab(config=ControllerConfig(process_read_event=True))
    answer = lab.broker(1).peer.ask(RequestCode5.GET_CONTROLLER_CONFIG)
    lines = answer.body.decode().splitlines()
    assert lines == sorted(lines)
    assert "isProcessReadEvent=true" in lines
    assert "serverWorkerThreads=8" in lines
    assert not [line for line in lines if line.startswith("jRaft")]
