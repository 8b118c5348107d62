"""What admin tools ask a consumer for through a broker, with a whole cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fakemq import Cluster
from fakemq.client import Client
from fakemq.protocol.bodies.consumer import (
    CMResult,
    ConsumeMessageDirectlyResult,
    ConsumerRunningInfo,
)
from fakemq.protocol.bodies.offset import GetConsumerStatusBody
from fakemq.protocol.codes import RequestCode
from fakemq.protocol.command import RemotingCommand
from fakemq.protocol.header import Header
from fakemq.protocol.headers.client import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
)
from fakemq.protocol.headers.offset import ResetOffsetRequestHeader
from tests.support.scripted_operation import TIMEOUT_MS

GROUP = "billing"


class Lab:
    """A cluster with a consumer inside that has consumed five messages, and an admin client."""

    def __init__(self, mq: Cluster, client: Client) -> None:
        self.mq = mq
        self.client = client
        self.consumer = mq.consumer(group=GROUP, subscribe="orders")
        producer = mq.producer()
        for one in range(5):
            producer.send("orders", b"%d" % one)
        mq.settle()
        (self.client_id,) = client.run(client.instance.consumer_ids("orders", GROUP))

    def ask(self, code: int, header: Header) -> RemotingCommand:
        instance = self.client.instance
        addr = instance.routes.master_addr("broker-a")
        assert addr is not None
        answer = self.client.run(instance.invoke(addr, instance.command(code, header), TIMEOUT_MS))
        assert answer.code == 0
        return answer


@pytest.fixture
def lab() -> Iterator[Lab]:
    with Cluster(topics={"orders": 2}) as mq, Client(mq.namesrv_addr) as client:
        yield Lab(mq, client)


def test_running_info_is_relayed(lab: Lab) -> None:
    header = GetConsumerRunningInfoRequestHeader(
        consumer_group=GROUP, client_id=lab.client_id, jstack_enable=True
    )
    answer = lab.ask(RequestCode.GET_CONSUMER_RUNNING_INFO, header)
    info = ConsumerRunningInfo.decode(answer.body)
    orders = {queue: one for queue, one in info.mq_table.items() if queue.topic == "orders"}
    assert sum(one.commit_offset for one in orders.values()) == 5
    assert [one.topic for one in info.subscription_set] == ["%RETRY%billing", "orders"]
    assert info.jstack


def test_message_is_consumed_directly(lab: Lab) -> None:
    first = lab.consumer.received[0]
    header = ConsumeMessageDirectlyResultRequestHeader(
        consumer_group=GROUP, client_id=lab.client_id, msg_id=first.offset_message_id
    )
    answer = lab.ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, header)
    result = ConsumeMessageDirectlyResult.decode(answer.body)
    assert result.consume_result == CMResult.CR_SUCCESS
    again = lab.consumer.received[-1]
    assert len(lab.consumer.received) == 6
    assert (again.body, again.message_id) == (first.body, first.message_id)
    assert again.broker_name == "broker-a"


def test_offsets_of_members_are_collected(lab: Lab) -> None:
    header = GetConsumerStatusRequestHeader(topic="orders", group=GROUP)
    answer = lab.ask(RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, header)
    body = GetConsumerStatusBody.decode(answer.body)
    assert sum(body.consumer_table[lab.client_id].values()) == 5


def test_group_is_reset_to_the_beginning(lab: Lab) -> None:
    lab.mq.clock.advance("10s")  # the offsets are committed
    header = ResetOffsetRequestHeader(topic="orders", group=GROUP, timestamp=0, is_force=True)
    lab.ask(RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
    lab.mq.settle()
    assert len(lab.consumer.received) == 5
    lab.mq.clock.advance("15s")
    lab.mq.settle()
    bodies = [one.body for one in lab.consumer.received]
    assert sorted(bodies) == sorted([b"0", b"1", b"2", b"3", b"4"] * 2)
