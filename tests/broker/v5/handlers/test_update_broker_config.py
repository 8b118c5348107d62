"""UPDATE_BROKER_CONFIG (25): keys that no request changes."""

from __future__ import annotations

import pytest

from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab


@pytest.mark.parametrize(
    "key", ["configBlackList", "brokerConfigPath", "rocketmqHome", "brokerPermission"]
)
def test_key_of_the_black_list_is_not_changed(lab: BrokerLab, key: str) -> None:
    config = BrokerConfig5(config_black_list="brokerPermission;brokerRole")
    broker = lab.broker(config, reference=REFERENCE)
    peer = lab.peer(broker.addr)
    answer = peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=f"traceOn=false\n{key}=4".encode())
    assert (answer.code, answer.remark) == (
        ResponseCode.NO_PERMISSION,
        "Can not update config in black list.",
    )
    assert broker.config.trace_on
    assert peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=b"traceOn=false").code == 0
    assert not broker.config.trace_on


def test_new_name_servers_are_followed_at_the_period_of_the_start(lab: BrokerLab) -> None:
    lab.name_server("10.0.0.1:9876")
    new = lab.name_server("10.0.0.2:9876")
    config = BrokerConfig5(update_name_server_addr_period=40_000)
    broker = lab.broker(config, namesrv_addrs=("10.0.0.1:9876",), reference=REFERENCE)
    lab.clock.advance("20s")
    peer = lab.peer(broker.addr)
    body = b"namesrvAddr=10.0.0.2:9876\nupdateNameServerAddrPeriod=1000"
    assert peer.ask(RequestCode.UPDATE_BROKER_CONFIG, body=body).code == ResponseCode.SUCCESS
    lab.clock.advance("29s")
    assert list(broker.registration.namesrv_addrs) == ["10.0.0.1:9876"]
    lab.clock.advance("1s")  # 10 s after the start, then every 40 s
    assert list(broker.registration.namesrv_addrs) == ["10.0.0.2:9876"]
    lab.clock.advance("30s")
    assert RequestCode.REGISTER_BROKER in new.codes()
