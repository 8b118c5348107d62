"""What a slave of 5.5.0 refuses at once."""

from __future__ import annotations

import pytest

from fakemq.broker.broker import Broker
from fakemq.config.v5.model import BrokerConfig5
from fakemq.protocol.codes import RequestCode
from fakemq.reference.v5 import REFERENCE
from tests.support.broker_lab import BrokerLab, send_header

REMARK = "[REJECTREQUEST]system busy, start flow control for a while"


@pytest.fixture
def config() -> BrokerConfig5:
    return BrokerConfig5(broker_role="SLAVE", broker_id=1)


@pytest.fixture
def slave(lab: BrokerLab, config: BrokerConfig5) -> Broker:
    return lab.broker(config, reference=REFERENCE)


@pytest.mark.parametrize(
    "code",
    [
        *(RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE),
        *(RequestCode.CONSUMER_SEND_MSG_BACK, RequestCode.PULL_MESSAGE),
        RequestCode.LITE_PULL_MESSAGE,
    ],
)
def test_slave_takes_no_messages_and_serves_no_pulls(
    lab: BrokerLab, slave: Broker, code: RequestCode
) -> None:
    answer = lab.peer(slave.addr).ask(code)
    assert (answer.code, answer.remark) == (2, REMARK)


def test_slave_serves_pulls_with_slave_read_enable(
    lab: BrokerLab, slave: Broker, config: BrokerConfig5
) -> None:
    config.slave_read_enable = True
    answer = lab.peer(slave.addr).ask(RequestCode.PULL_MESSAGE)
    assert answer.code != 2


def test_master_takes_messages(lab: BrokerLab) -> None:
    broker = lab.broker(reference=REFERENCE)
    broker.create_topic("orders", 1)
    answer = lab.peer(broker.addr).ask(RequestCode.SEND_MESSAGE_V2, send_header("orders"), b"hello")
    assert answer.code == 0
