"""GET_ALL_DELAY_OFFSET: the progress of every delay level as JSON."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.broker_lab import BrokerLab
from tests.support.delays import Delays


def test_levels_with_progress_have_unquoted_numbers_as_keys(lab: BrokerLab) -> None:
    delays = Delays(lab)
    for level in (3, 1, 3, 2):
        delays.send(level)
    delays.pass_ms(1_000)
    response = delays.peer.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    assert response.body == b'{"offsetTable":{1:1}}'
    delays.pass_ms(2_000)
    response = delays.peer.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    assert response.body == b'{"offsetTable":{1:1,2:1,3:2}}'


def test_progress_is_an_empty_table_when_no_level_delivered(lab: BrokerLab) -> None:
    peer = lab.peer(lab.broker().addr)
    assert peer.ask(RequestCode.GET_ALL_DELAY_OFFSET).body == b'{"offsetTable":{}}'
