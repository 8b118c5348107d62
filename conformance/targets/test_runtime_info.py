"""Programs may ask a broker for its figures when it has the first ones."""

from __future__ import annotations

import pytest

import fakemq
from conformance.targets.runtime_info import runtime_info, wait_dispatched, wait_sampled
from fakemq.client import Client
from fakemq.client.errors import MQBrokerError
from fakemq.protocol.codes import RequestCode, ResponseCode

NO_SAMPLES = "java.util.NoSuchElementException, java.base/java.util.LinkedList.getLast"
ASKED = RequestCode.GET_BROKER_RUNTIME_INFO


def test_figures_are_waited_for_until_a_broker_has_samples() -> None:
    with fakemq.Cluster() as mq, Client(mq.namesrv_addr) as client:
        addr = mq.broker("broker-a").addr
        young = mq.faults.error(ASKED, code=ResponseCode.SYSTEM_ERROR, remark=NO_SAMPLES, times=2)
        wait_sampled(client)
        assert young.fired == 2
        young = mq.faults.error(ASKED, code=ResponseCode.SYSTEM_ERROR, remark=NO_SAMPLES, times=2)
        assert runtime_info(addr)["commitLogMaxOffset"] == "0"
        assert young.fired == 2
        wait_dispatched(addr)


def test_other_refusal_ends_the_wait() -> None:
    with fakemq.Cluster() as mq, Client(mq.namesrv_addr) as client:
        mq.faults.error(ASKED, code=ResponseCode.NO_PERMISSION, remark="no account")
        with pytest.raises(MQBrokerError, match="no account"):
            wait_sampled(client)
