"""A process without memory refuses requests, or ends their connection; that is no bug."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import fakemq
from fakemq.core.snapshots import NodeCapture
from fakemq.dispatch.answers import Refused
from fakemq.dispatch.outcomes import outcome_of
from fakemq.errors import NO_MEMORY
from fakemq.events import HandlerFailed, Warned
from fakemq.journal.warnings import MAX_LINES
from fakemq.net.session import Session
from fakemq.protocol.codes import RequestCode
from tests.support.control import Http
from tests.support.tcp import TcpPeer


@pytest.fixture
def mq() -> Iterator[fakemq.Cluster]:
    with fakemq.Cluster(control_port=0) as cluster:
        yield cluster


def test_missing_memory_is_507_and_no_bug(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(NodeCapture, "__init__", fail)
    assert mq.control_url is not None
    answer = Http(mq.control_url).ask("POST", "/v1/snapshots")
    assert (answer.status, answer.error) == (507, NO_MEMORY)
    assert not mq.journal.find(HandlerFailed)


def test_frame_without_memory_ends_its_connection_and_is_no_bug(
    mq: fakemq.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    with TcpPeer(mq.broker("broker-a").addr) as other, monkeypatch.context() as patched:
        patched.setattr(Session, "data_received", fail)
        for _ in range(MAX_LINES + 5):
            with TcpPeer(mq.broker("broker-a").addr) as peer:
                peer.sock.sendall(b"\0\0\0\1")
                assert peer.at_end()
        patched.undo()
        assert other.ask(RequestCode.GET_BROKER_CONFIG).code == 0
    assert not mq.journal.find(HandlerFailed)
    assert len([one for one in mq.journal.find(Warned) if NO_MEMORY in one.text]) == MAX_LINES


def test_handler_without_memory_refuses_its_request_and_is_no_bug(mq: fakemq.Cluster) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    node = mq.inspect(lambda core: core.broker("broker-a"))
    answer = mq.inspect(lambda core: outcome_of(node, RequestCode.GET_BROKER_CONFIG, fail))
    assert isinstance(answer, Refused)
    assert answer.remark == NO_MEMORY
    assert not mq.journal.find(HandlerFailed)
