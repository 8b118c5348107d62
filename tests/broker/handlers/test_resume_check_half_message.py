"""RESUME_CHECK_HALF_MESSAGE: a discarded half message is checked again."""

from __future__ import annotations

import zlib

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.headers.transaction import ResumeCheckHalfMessageRequestHeader
from fakemq.protocol.message_id import create_offset_id
from tests.support.broker_lab import BrokerLab
from tests.support.clients import beat
from tests.support.peer import Peer
from tests.support.transactions import (
    COMMIT,
    PRODUCERS,
    asked,
    discarded,
    end,
    halves,
    pass_check,
    send_half,
    stored,
)

THROWN = "Exception was thrown when putting message back to RMQ_SYS_TRANS_HALF_TOPIC."


def resume(peer: Peer, msg_id: str | None) -> RemotingCommand:
    header = ResumeCheckHalfMessageRequestHeader(msg_id=msg_id)
    return peer.ask(RequestCode.RESUME_CHECK_HALF_MESSAGE, header)


def test_discarded_half_message_is_checked_again(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(transaction_check_max=1))
    peer = lab.peer(broker.addr)
    beat(peer, producers=[PRODUCERS])
    send_half(peer, flag=7)
    for _ in range(2):
        pass_check(lab)
    (message,) = discarded(broker)
    asked(peer)
    beat(peer, producers=[PRODUCERS])
    response = resume(peer, message.offset_msg_id)
    assert (response.code, response.remark) == (0, None)
    assert halves(broker)[-1].properties["TRANSACTION_CHECK_TIMES"] == "0"
    pass_check(lab)
    (check,) = asked(peer)
    assert check.message.properties["TRANSACTION_CHECK_TIMES"] == "1"
    end(peer, check.half, COMMIT)
    assert len(stored(broker)) == 1


def test_compressed_body_is_unpacked_and_still_flagged(broker: Broker, peer: Peer) -> None:
    half = send_half(peer, body=zlib.compress(b"body"), sys_flag=5)
    assert resume(peer, create_offset_id(broker.store_host, half.commit_log_offset)).code == 0
    again = halves(broker)[-1]
    assert (again.body, again.sys_flag) == (b"body", 1)


@pytest.mark.parametrize("msg_id", [None, "", "no id", "7F00000100002A9F0000000000001000"])
def test_ids_without_a_message_are_refused(peer: Peer, msg_id: str | None) -> None:
    response = resume(peer, msg_id)
    assert (response.code, response.remark) == (ResponseCode.SYSTEM_ERROR, THROWN)


def test_undecodable_body_is_refused(broker: Broker, peer: Peer) -> None:
    half = send_half(peer, body=b"no zlib", sys_flag=5)
    response = resume(peer, create_offset_id(broker.store_host, half.commit_log_offset))
    assert (response.code, response.remark) == (ResponseCode.SYSTEM_ERROR, THROWN)


def test_full_store_is_refused(lab: BrokerLab) -> None:
    broker = lab.broker(memory_limit_bytes=1000)
    peer = lab.peer(broker.addr)
    half = send_half(peer, body=b"x" * 500)
    response = resume(peer, create_offset_id(broker.store_host, half.commit_log_offset))
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert response.remark == "Put message back to RMQ_SYS_TRANS_HALF_TOPIC failed."
