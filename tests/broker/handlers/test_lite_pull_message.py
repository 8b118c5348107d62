"""LITE_PULL_MESSAGE: a pull by another code, which can be switched off."""

from __future__ import annotations

from fakemq.broker.broker import Broker
from fakemq.config.model import BrokerConfig
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.protocol.message import decode_records
from fakemq.protocol.sysflag import PullSysFlag
from tests.support.broker_lab import BrokerLab
from tests.support.clients import pull_header, send
from tests.support.peer import Peer

CODE = RequestCode.LITE_PULL_MESSAGE
FLAGS = PullSysFlag.SUBSCRIPTION | PullSysFlag.LITE_PULL_MESSAGE


def test_lite_pull_returns_messages(peer: Peer) -> None:
    send(peer)
    response = peer.ask(CODE, pull_header(sys_flag=FLAGS), ext_fields={"maxMsgBytes": "1"})
    assert (response.code, response.remark) == (ResponseCode.SUCCESS, "FOUND")
    assert [message.body for message in decode_records(response.body)] == [b"body"]


def test_lite_pull_is_held(peer: Peer) -> None:
    send(peer)
    header = pull_header(1, sys_flag=FLAGS | PullSysFlag.SUSPEND)
    answer = peer.send(CODE, header, timeout_ms=10**9)
    assert not answer.over
    send(peer)
    assert answer.response is not None
    assert answer.response.code == ResponseCode.SUCCESS


def test_lite_pull_can_be_disabled_while_it_is_held(lab: BrokerLab) -> None:
    broker = lab.broker(BrokerConfig(broker_ip1="10.1.1.1"))
    peer = lab.peer(broker.addr)
    send(peer)
    header = pull_header(1, sys_flag=FLAGS | PullSysFlag.SUSPEND)
    answer = peer.send(CODE, header, timeout_ms=10**9)
    broker.config.lite_pull_message_enable = False
    response = peer.ask(CODE, pull_header())
    assert (response.code, response.remark) == (
        ResponseCode.NO_PERMISSION,
        "the broker[10.1.1.1] for lite pull consumer is forbidden",
    )
    assert peer.ask(RequestCode.PULL_MESSAGE, pull_header()).code == ResponseCode.SUCCESS
    lab.clock.advance("20s")
    assert answer.response is not None
    assert answer.response.code == ResponseCode.NO_PERMISSION


def test_fast_port_does_not_serve_it(lab: BrokerLab, broker: Broker) -> None:
    response = lab.peer(broker.vip_addr).ask(CODE, pull_header())
    assert (response.code, response.remark) == (
        ResponseCode.REQUEST_CODE_NOT_SUPPORTED,
        " request type 361 not supported",
    )
