"""The simulator's gRPC clients, each by itself beside a front."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from fakemq.config.spec import cluster_spec
from fakemq.core.changes import set_message_type
from fakemq.core.cluster import ClusterCore
from fakemq.events import DeadLettered, ScheduledDelivered
from fakemq.events.grpc import HandleRenewed, OrphanAsked
from fakemq.events.pop import Acknowledged, InvisibleTimeChanged, Popped, Revived
from fakemq.events.timers import TimerDelivered, TimerRecalled
from fakemq.protocol.bodies.group import SubscriptionGroupConfig
from fakemq.randomness import Randomness
from fakemq.sim.consumers import Consumer
from fakemq.sim.events import Consumed, Decided, RecallEnded, SendFailed, Sent
from fakemq.sim.front_kinds import CONSUMERS, PRODUCERS
from fakemq.sim.front_producers import FrontProducer
from fakemq.sim.plan import ConsumerPlan, PopPlan, ProducerPlan

POP = PopPlan(
    invisible_ms=10_000,
    poll_ms=15_000,
    notified=False,
    batch_acks=False,
    share=0,
    renewing=0.0,
    forgetting=0.0,
)
CONSUMER = ConsumerPlan(
    name="workers-1",
    group="workers",
    kind="grpc_simple",
    topics=("orders",),
    ordered=False,
    work_ms=0,
    failing=0.0,
    tries=1,
    batch=8,
    threads=1,
    pop=POP,
)
TYPES = {
    "grpc_sync": "NORMAL",
    "grpc_priority": "PRIORITY",
    "grpc_ordered": "FIFO",
    "grpc_delayed": "DELAY",
    "grpc_transactional": "TRANSACTION",
}
MINUTE_MS = 60_000


class Lab:
    """A cluster with a front, and clients of it."""

    def __init__(self) -> None:
        spec = cluster_spec(
            namesrv_port=9876,
            broker_port=10911,
            clock="frozen",
            seed=1,
            topics={"orders": 2},
            reference="5.5.0",
            config={"recallMessageEnable": "true", "transactionCheckInterval": "20000"},
        )
        self.core = ClusterCore(spec, ["127.0.0.1:9876"], [10911], grpc_port=8081)
        self.core.start()
        self.group(ordered=False)

    def group(self, *, ordered: bool, tries: int = 1) -> None:
        self.core.broker("broker-a").groups.update(
            SubscriptionGroupConfig(
                group_name="workers", consume_message_orderly=ordered, retry_max_times=tries
            )
        )

    def producer(self, kind: str = "grpc_sync", *, pause_ms: int = 1_000) -> FrontProducer:
        set_message_type(self.core, "orders", TYPES[kind])
        plan = ProducerPlan(
            name="sender",
            kind=kind,
            topic="orders",
            pause_ms=pause_ms,
            burst=2,
            body_bytes=10,
            delay_levels=1,
            send_timeout_ms=3_000,
            queues=(),
        )
        until_ms = self.core.clock.elapsed_ms() + 30_000
        producer = PRODUCERS[kind](self.core, plan, Randomness(1).stream("sender"), until_ms)
        producer.start()
        return producer

    def consumer(self, plan: ConsumerPlan = CONSUMER) -> Consumer:
        consumer = CONSUMERS[plan.kind](self.core, plan, Randomness(2).stream(plan.name))
        consumer.start()
        self.core.network.settle()
        return consumer

    def keys(self, kind: type[Sent | Consumed] = Sent) -> list[str]:
        return [one.key for one in self.core.journal.find(kind)]


@pytest.fixture
def lab() -> Iterator[Lab]:
    lab = Lab()
    yield lab
    lab.core.stop()
    lab.core.free()


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("kind", ["grpc_simple", "grpc_push", "grpc_fifo"])
def test_message_is_sent_received_and_acknowledged(lab: Lab, kind: str, together: bool) -> None:
    ordered = kind == "grpc_fifo"
    lab.group(ordered=ordered)
    lab.consumer(replace(CONSUMER, kind=kind, pop=replace(POP, batch_acks=together)))
    lab.producer("grpc_ordered" if ordered else "grpc_sync")
    lab.core.advance(2 * MINUTE_MS)
    journal = lab.core.journal
    assert len(lab.keys()) > 10
    assert sorted(lab.keys(Consumed)) == sorted(lab.keys())
    assert {one.in_order for one in journal.find(Popped)} == {ordered}
    assert len(journal.find(Acknowledged)) == len(lab.keys())
    assert not journal.find(Revived)


def test_places_of_sent_messages_are_those_where_they_are_stored(lab: Lab) -> None:
    lab.producer()
    lab.core.advance(MINUTE_MS)
    store = lab.core.broker("broker-a").store
    for sent in lab.core.journal.find(Sent):
        record = store.select_one_message_by_offset(sent.phy_offset)
        assert record is not None
        assert sent.msg_id.encode() in bytes(record)
        assert sent.broker == "broker-a"


def test_messages_of_a_group_go_to_one_queue(lab: Lab) -> None:
    lab.producer("grpc_ordered")
    lab.core.advance(MINUTE_MS)
    queues: dict[str, set[int]] = {}
    for sent in lab.core.journal.find(Sent):
        queues.setdefault(sent.shard, set()).add(sent.queue_id)
    assert len(queues) == 4
    assert all(len(found) == 1 for found in queues.values())


def test_delayed_message_comes_later_or_is_recalled(lab: Lab) -> None:
    lab.producer("grpc_delayed")
    lab.core.advance(2 * MINUTE_MS)
    journal = lab.core.journal
    recalled = {one.msg_id for one in journal.find(RecallEnded) if one.well}
    delivered = {one.msg_id for one in journal.find(TimerDelivered)}
    assert recalled
    assert len(journal.find(TimerRecalled)) == len(recalled)
    assert delivered | recalled == {one.msg_id for one in journal.find(Sent)}
    assert not journal.find(ScheduledDelivered)


def test_transaction_is_decided_at_once_or_when_it_is_asked_for(lab: Lab) -> None:
    lab.consumer()
    lab.producer("grpc_transactional")
    lab.core.advance(3 * MINUTE_MS)
    journal = lab.core.journal
    committed = [one.key for one in journal.find(Decided) if one.how == "commit"]
    assert journal.find(OrphanAsked)
    assert 0 < len(committed) < len(lab.keys())
    assert sorted(lab.keys(Consumed)) == sorted(committed)


@pytest.mark.parametrize("kind", ["grpc_simple", "grpc_push"])
def test_message_that_fails_comes_again_until_the_front_buries_it(lab: Lab, kind: str) -> None:
    lab.consumer(replace(CONSUMER, kind=kind, failing=1.0))
    lab.producer(pause_ms=20_000)
    lab.core.advance(3 * MINUTE_MS)
    journal = lab.core.journal
    count = len(lab.keys())
    assert count > 0
    assert sorted(one.times for one in journal.find(Consumed)) == [0] * count + [1] * count
    assert len(journal.find(InvisibleTimeChanged)) == 2 * count
    assert len(journal.find(DeadLettered)) == count


def test_message_that_fails_in_order_is_tried_again_and_forwarded(lab: Lab) -> None:
    lab.group(ordered=True)
    lab.consumer(replace(CONSUMER, kind="grpc_fifo", ordered=True, failing=1.0))
    lab.producer("grpc_ordered")
    lab.core.advance(3 * MINUTE_MS)
    journal = lab.core.journal
    assert len(journal.find(Consumed)) == 2 * len(lab.keys())
    assert len(journal.find(DeadLettered)) == len(lab.keys())


def test_front_prolongs_what_a_push_consumer_works_on(lab: Lab) -> None:
    lab.consumer(replace(CONSUMER, kind="grpc_push", work_ms=200_000))
    lab.producer(pause_ms=20_000)
    lab.core.advance(5 * MINUTE_MS)
    journal = lab.core.journal
    assert {one.why for one in journal.find(HandleRenewed)} == {"renewed"}
    assert not journal.find(Revived)
    assert {one.times for one in journal.find(Consumed)} == {0}


def test_clients_return_after_the_front_was_killed(lab: Lab) -> None:
    lab.consumer(replace(CONSUMER, kind="grpc_push"))
    lab.producer()
    lab.core.advance(5_000)
    assert lab.core.proxy is not None
    lab.core.proxy.stop("kill")
    lab.core.advance(10_000)
    assert lab.core.journal.find(SendFailed)
    lab.core.start_proxy()
    lab.core.advance(3 * MINUTE_MS)
    assert set(lab.keys(Consumed)) >= set(lab.keys())


def test_client_that_vanishes_is_forgotten_and_its_messages_come_again(lab: Lab) -> None:
    first = lab.consumer(replace(CONSUMER, kind="grpc_push", work_ms=900_000))
    lab.producer(pause_ms=20_000)
    lab.core.advance(30_000)
    first.kill(silently=True)
    lab.consumer(replace(CONSUMER, kind="grpc_push", name="workers-2"))
    lab.core.advance(5 * MINUTE_MS)
    assert "client left" in {one.why for one in lab.core.journal.find(HandleRenewed)}
    done = {one.key for one in lab.core.journal.find(Consumed) if one.node == "workers-2"}
    assert done == set(lab.keys())
