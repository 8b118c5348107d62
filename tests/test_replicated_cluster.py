"""A cluster with slaves behind sockets: what a test holds and what a client does with it."""

from __future__ import annotations

import asyncio

import fakemq
from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus
from fakemq.protocol.bodies.queue import MessageQueue

QUEUE = MessageQueue(topic="orders", broker_name="broker-a", queue_id=0)
SENT = [b"%d" % number for number in range(20)]


def send_all(mq: fakemq.Cluster) -> None:
    with Client(mq.namesrv_addr) as client:
        for body in SENT:
            assert client.send(Message("orders", body)).status is SendStatus.SEND_OK


def test_what_was_acknowledged_is_read_from_the_slave() -> None:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}) as mq:
        send_all(mq)
        assert [message.body for message in mq.messages("orders")] == SENT
        mq.broker("broker-a").kill()
        with Client(mq.namesrv_addr) as client:
            result = client.pull(QUEUE, 0)
            assert [message.body for message in result.messages] == SENT
        assert [message.body for message in mq.messages("orders")] == SENT


def test_a_slave_becomes_the_master_and_the_master_its_slave() -> None:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}, clock="frozen") as mq:
        send_all(mq)
        old, new = mq.broker("broker-a-0"), mq.broker("broker-a-1")
        old.kill()
        new.restart({"brokerRole": "SYNC_MASTER"})
        assert mq.broker("broker-a").name == "broker-a-1"
        old.restart({"brokerRole": "SLAVE", "brokerId": 1})
        mq.clock.advance("11s")
        send_all(mq)
        assert [message.body for message in mq.messages("orders")] == SENT * 2
        mq.reset()
        assert mq.broker("broker-a").name == "broker-a-0"
        send_all(mq)
        assert [message.body for message in mq.messages("orders")] == SENT


def test_what_was_seeded_and_snapshots_reach_the_slave() -> None:
    with fakemq.Cluster(slaves=1, topics={"orders": 1}, clock="frozen") as mq:
        mq.seed("orders", SENT)
        assert len(mq.messages("orders")) == mq.group("none").lag("orders") == len(SENT)
        snapshot = mq.snapshot()
        mq.reset()
        mq.restore(snapshot)
        mq.seed("orders", [b"more"])
        mq.clock.advance("100ms")
        mq.broker("broker-a").kill()
        assert [message.body for message in mq.messages("orders")] == [*SENT, b"more"]


def test_asynchronously_too() -> None:
    async def run() -> None:
        async with fakemq.AsyncCluster(slaves=1, topics={"orders": 1}) as mq:
            await mq.broker("broker-a-1").restart({"brokerRole": "SLAVE", "brokerId": 3})
            assert mq.broker("broker-a-1").state == "running"

    asyncio.run(run())
