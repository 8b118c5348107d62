"""UPDATE_BROKER_CONFIG (25): keys that no request changes."""

from __future__ import annotations

import pytest

from fakemq.config.model_5_5_0 import BrokerConfig5
from fakemq.protocol.codes import RequestCode, ResponseCode
from fakemq.reference.v5_5_0 import REFERENCE
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
