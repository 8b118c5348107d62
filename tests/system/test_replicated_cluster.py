"""A cluster with slaves behind sockets: what a test holds and what a client does with it."""

from __future__ import annotations

import asyncio

import pytest

import fakemq
from fakemq.client.blocking import Client
from fakemq.client.messages import Message, SendStatus
from fakemq.events import LinkClosed
from fakemq.events.replication import SlaveReported
from fakemq.protocol.bodies.queue import MessageQueue

QUEUE = MessageQueue(topic="orders", broker_name="broker-a", queue_id=0)
SENT = [b"%d" % number for number in range(20)]


def send_all(mq: fakemq.Cluster) -> None:
    assert send(mq, SENT) == {SendStatus.SEND_OK}


def send(mq: fakemq.Cluster, bodies: list[bytes]) -> set[SendStatus]:
    with Client(mq.namesrv_addr) as client:
        return {client.send(Message("orders", body)).status for body in bodies}


def stored(mq: fakemq.Cluster) -> list[bytes]:
    return [message.body for message in mq.messages("orders")]


def test_acknowledged_message_is_read_from_the_slave() -> None:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}) as mq:
        send_all(mq)
        assert stored(mq) == SENT
        mq.broker("broker-a").kill()
        with Client(mq.namesrv_addr) as client:
            result = client.pull(QUEUE, 0)
            assert [message.body for message in result.messages] == SENT
        assert stored(mq) == SENT


def test_slave_becomes_master_and_the_master_its_slave() -> None:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}, clock="frozen") as mq:
        send_all(mq)
        old, new = mq.broker("broker-a-0"), mq.broker("broker-a-1")
        old.kill()
        new.restart({"brokerRole": "SYNC_MASTER"})
        assert mq.broker("broker-a").name == "broker-a-1"
        old.restart({"brokerRole": "SLAVE", "brokerId": 1})
        mq.clock.advance("11s")
        send_all(mq)
        assert stored(mq) == SENT * 2
        mq.reset()
        assert mq.broker("broker-a").name == "broker-a-0"
        send_all(mq)
        assert stored(mq) == SENT


def test_demoted_broker_that_was_ahead_never_agrees_again() -> None:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}, clock="frozen") as mq:
        assert send(mq, [b"a0", b"a1"]) == {SendStatus.SEND_OK}
        old, new = mq.broker("broker-a-0"), mq.broker("broker-a-1")
        new.stop()
        assert send(mq, [b"t0", b"t1"]) == {SendStatus.SLAVE_NOT_AVAILABLE}
        old.kill()
        new.restart({"brokerRole": "SYNC_MASTER"})
        assert send(mq, [b"b0", b"b1", b"b2"]) == {SendStatus.SLAVE_NOT_AVAILABLE}
        old.restart({"brokerRole": "SLAVE", "brokerId": 1})
        mq.clock.advance("11s")
        # Records of one size: what it has not got yet begins where its own log ends.
        assert send(mq, [b"c0"]) == {SendStatus.SEND_OK}
        assert stored(mq) == [b"a0", b"a1", b"b0", b"b1", b"b2", b"c0"]
        new.kill()
        assert stored(mq) == [b"a0", b"a1", b"t0", b"t1", b"b2", b"c0"]


def test_report_from_a_slave_further_ahead_is_not_believed() -> None:
    with fakemq.Cluster(slaves=1, topics={"orders": 1}, clock="frozen") as mq:
        old, new = mq.broker("broker-a-0"), mq.broker("broker-a-1")
        new.stop()
        send(mq, [b"t0", b"t1", b"t2"])
        old.kill()
        new.restart({"brokerRole": "ASYNC_MASTER"})
        send(mq, [b"b0"])
        old.restart({"brokerRole": "SLAVE", "brokerId": 1})
        mq.clock.advance("11s")
        refusals = [event.why for event in mq.journal.find(LinkClosed, node="broker-a-1")]
        assert refusals[-1].startswith("the slave reports offset")
        assert mq.journal.find(SlaveReported, node="broker-a-1") == []


def test_seeded_messages_and_restored_snapshots_reach_the_slave() -> None:
    with fakemq.Cluster(slaves=1, topics={"orders": 1}, clock="frozen") as mq:
        mq.seed("orders", SENT)
        assert len(mq.messages("orders")) == mq.group("none").lag("orders") == len(SENT)
        snapshot = mq.snapshot()
        mq.reset()
        mq.restore(snapshot)
        mq.seed("orders", [b"more"])
        mq.clock.advance("100ms")
        mq.broker("broker-a").kill()
        assert stored(mq) == [*SENT, b"more"]


def test_asynchronous_cluster_promotes_too() -> None:
    async def run() -> None:
        async with fakemq.AsyncCluster(slaves=1, topics={"orders": 1}) as mq:
            await mq.broker("broker-a-1").restart({"brokerRole": "SLAVE", "brokerId": 3})
            assert mq.broker("broker-a-1").state == "running"

    asyncio.run(run())


def test_seeding_needs_no_slave() -> None:
    with fakemq.Cluster(slaves=1, role="SYNC_MASTER", topics={"orders": 1}) as mq:
        mq.broker("broker-a-1").kill()
        mq.seed("orders", SENT)
        assert stored(mq) == SENT


def test_topic_creation_needs_a_master() -> None:
    with fakemq.Cluster(slaves=1, topics={"orders": 1}) as mq:
        mq.broker("broker-a").kill()
        with pytest.raises(LookupError, match="no running master to create topic bills at"):
            mq.create_topic("bills")
        mq.broker("broker-a-0").restart({"brokerRole": "SLAVE", "brokerId": 2})
        with pytest.raises(LookupError, match="no master 'broker-a'; there are: broker-a-0, "):
            mq.broker("broker-a")
