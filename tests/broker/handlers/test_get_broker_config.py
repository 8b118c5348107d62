"""GET_BROKER_CONFIG: the config as text, its version in the header."""

from __future__ import annotations

from fakemq.protocol.codes import RequestCode, ResponseCode
from tests.support.peer import Peer
from tests.support.time import START_MS


def test_config_is_a_text_and_its_version_a_header(peer: Peer) -> None:
    response = peer.ask(RequestCode.GET_BROKER_CONFIG)
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, None)
    assert response.ext_fields == {"version": f'{{"counter":0,"timestamp":{START_MS}}}'}
    lines = response.body.decode().splitlines()
    assert {"brokerName=broker-a", "listenPort=10911", "flushDiskType=ASYNC_FLUSH"} <= set(lines)
