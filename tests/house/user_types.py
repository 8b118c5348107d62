"""The types that a user's checker sees. mypy reads this file with all others; nothing runs it.

`user_type_errors` has what a user's checker must refuse.
"""

from __future__ import annotations

from datetime import datetime
from typing import assert_type

import fakemq
from fakemq.core.views import Deadline, Delivery, Member, Queue
from fakemq.events import LogAppended
from fakemq.fixtures import factories
from fakemq.fixtures.external import ExternalCluster, ExternalGroup
from fakemq.handles.brokers import AsyncBrokerHandle, BrokerHandle
from fakemq.handles.clock import AsyncClockHandle, ClockHandle, ClockHold
from fakemq.handles.faults import Fault, Faults
from fakemq.handles.journal import JournalView
from fakemq.handles.topics import GroupHandle
from fakemq.handles.values import Message
from fakemq.journal.entries import Entry

proc = factories.rocketmq_proc(masters=2, topics={"orders": 4})
own = factories.rocketmq("proc")
own_async = factories.rocketmq_async("own")
there = factories.rocketmq_noproc("127.0.0.1:9876")


def use_sync(rocketmq: fakemq.Cluster) -> None:
    assert_type(rocketmq.namesrv_addr, str)
    assert_type(rocketmq.seed_value, int)
    assert_type(rocketmq.seed("orders", [b"a", "b"], tags="t", keys="k"), list[Message])
    message = rocketmq.messages("orders")[0]
    assert_type(message.body, bytes)
    assert_type(message.properties, dict[str, str])
    assert_type(message.deliveries, tuple[Delivery, ...])
    assert_type(message.stored_at_ms, int)
    assert_type(rocketmq.queues("orders"), list[Queue])
    assert_type(rocketmq.topics(), list[str])
    assert_type(rocketmq.group("billing"), GroupHandle)
    assert_type(rocketmq.group("billing").lag("orders"), int)
    assert_type(rocketmq.group("billing").offsets("orders"), dict[tuple[str, int], int])
    assert_type(rocketmq.group("billing").members(), list[Member])
    assert_type(rocketmq.clock, ClockHandle)
    assert_type(rocketmq.clock.now(), datetime)
    assert_type(rocketmq.clock.now_ms(), int)
    assert_type(rocketmq.clock.advance("2h"), list[Deadline])
    assert_type(rocketmq.clock.advance_to("2024-02-29T12:00:00Z"), list[Deadline])
    assert_type(rocketmq.clock.advance_to_next("broker_expiry"), list[Deadline])
    assert_type(rocketmq.clock.timers(), list[Deadline])
    assert_type(rocketmq.clock.hold("why"), ClockHold)
    assert_type(rocketmq.broker("broker-a"), BrokerHandle)
    assert_type(rocketmq.brokers, list[BrokerHandle])
    assert_type(rocketmq.broker("broker-a").addr, str)
    rocketmq.broker("broker-a").stop()
    assert_type(rocketmq.faults, Faults)
    assert_type(rocketmq.faults.silence("broker-a"), Fault)
    assert_type(rocketmq.faults.believe_reports("broker-a"), Fault)
    assert_type(rocketmq.journal, JournalView)
    assert_type(rocketmq.journal.find(LogAppended, topic="orders"), list[LogAppended])
    assert_type(rocketmq.journal.tail(), list[Entry])
    assert_type(rocketmq.wait_for(lambda: 3, timeout="5s"), int)
    assert_type(rocketmq.wait_for(lambda: rocketmq.messages("orders")), list[Message])
    assert_type(rocketmq.run_until(lambda: "x", at_most="1h"), str)
    assert_type(rocketmq.name("orders"), str)
    with fakemq.Cluster(masters=2, clock="frozen", config={"enableScheduleMessage": True}) as mq:
        assert_type(mq, fakemq.Cluster)


async def use_async(rocketmq_async: fakemq.AsyncCluster) -> None:
    assert_type(rocketmq_async.clock, AsyncClockHandle)
    assert_type(await rocketmq_async.clock.advance("2h"), list[Deadline])
    assert_type(rocketmq_async.messages("orders"), list[Message])
    assert_type(await rocketmq_async.wait_for(lambda: 3), int)
    assert_type(await rocketmq_async.run_until(lambda: 3, at_most=5), int)
    assert_type(rocketmq_async.broker("broker-a"), AsyncBrokerHandle)
    await rocketmq_async.broker("broker-a").restart()
    async with fakemq.AsyncCluster(masters=2) as mq:
        assert_type(mq, fakemq.AsyncCluster)


def use_external(rocketmq_noproc: ExternalCluster) -> None:
    assert_type(rocketmq_noproc.name("orders"), str)
    assert_type(rocketmq_noproc.seed("orders", ["a"]), list[Message])
    assert_type(rocketmq_noproc.group("billing"), ExternalGroup)
    assert_type(rocketmq_noproc.wait_for(lambda: 3), int)


def use_codes() -> None:
    code: fakemq.RequestCode = fakemq.RequestCode.SEND_MESSAGE_V2
    assert_type(code.name, str)
    try:
        pass
    except fakemq.WaitTimeout as error:
        raise fakemq.FakemqError(str(error)) from error
