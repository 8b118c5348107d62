"""CLEAN_EXPIRED_CONSUMEQUEUE and DELETE_EXPIRED_COMMITLOG: always 0."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.protocol.codes import RequestCode
from tests.support.broker_lab import Send
from tests.support.peer import Peer


@pytest.mark.parametrize(
    "code", [RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, RequestCode.DELETE_EXPIRED_COMMITLOG]
)
def test_clean_requests_always_succeed(code: int, broker: Broker, peer: Peer, send: Send) -> None:
    send()
    response = peer.ask(code)
    assert (response.code, response.remark, response.body) == (0, None, b"")
    assert broker.store.max_offset_in_queue("orders", 0) == 1
