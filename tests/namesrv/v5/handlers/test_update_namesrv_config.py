"""UPDATE_NAMESRV_CONFIG (318): keys that no request changes."""

from __future__ import annotations

import pytest

from fakemq.config.v5.model import NamesrvConfig5
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5 import REFERENCE
from tests.support.namesrv_lab import NamesrvLab
from tests.support.peer import Peer


@pytest.fixture
def lab() -> NamesrvLab:
    return NamesrvLab()


def peer_of(lab: NamesrvLab, config: NamesrvConfig5) -> Peer:
    return lab.peer(lab.name_server(config, reference=REFERENCE))


@pytest.mark.parametrize(
    "key", ["configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome", "listenPort"]
)
def test_key_of_the_black_list_is_not_changed(lab: NamesrvLab, key: str) -> None:
    config = NamesrvConfig5(config_black_list="listenPort;bindAddress")
    peer = peer_of(lab, config)
    body = f"orderMessageEnable=true\n{key}=5\n".encode()
    answer = peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=body)
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "Can not update config in black list.",
    )
    assert not lab.servers[0].config.order_message_enable
    answer = peer.ask(RequestCode.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=true\n")
    assert answer.code == ResponseCode.SUCCESS
    assert lab.servers[0].config.order_message_enable
