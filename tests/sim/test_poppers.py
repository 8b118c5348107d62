"""The simulator's members that pop: what they do with messages, in order and not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from fakemq.client.messages import Message
from fakemq.client.send_operations import SendOperations
from fakemq.events import DeadLettered
from fakemq.events.pop import Acknowledged, InvisibleTimeChanged, Popped, Revived
from fakemq.protocol.bodies.queue import MessageQueue
from fakemq.randomness import Randomness
from fakemq.sim.consumers import Consumer
from fakemq.sim.events import Consumed
from fakemq.sim.plan import ConsumerPlan, PopPlan
from fakemq.sim.run import CONSUMER_KINDS
from tests.support.inside_lab import InsideLab

POP = PopPlan(
    invisible_ms=10_000,
    poll_ms=15_000,
    notified=False,
    batch_acks=False,
    share=0,
    renewing=0.0,
    forgetting=0.0,
)
PLAN = ConsumerPlan(
    name="workers-1",
    group="workers",
    kind="popper",
    topics=("orders",),
    ordered=False,
    work_ms=0,
    failing=0.0,
    tries=2,
    batch=8,
    threads=3,
    pop=POP,
)
LONG_MS = 120_000


@pytest.fixture
def lab() -> InsideLab:
    return InsideLab("5.5.0")


def popper(lab: InsideLab, plan: ConsumerPlan = PLAN) -> Consumer:
    client = CONSUMER_KINDS[plan.kind](lab.core, plan, Randomness(1).stream(plan.name))
    client.start()
    lab.core.advance(2_000)
    return client


def send(lab: InsideLab, *bodies: bytes) -> None:
    """Send messages to queue 0."""
    program = lab.program()
    producer = SendOperations(program.instance, "group")
    queue = MessageQueue(topic="orders", broker_name="broker-a", queue_id=0)
    for body in bodies:
        lab.run(program, producer.send(Message("orders", body), queue=queue))


def in_order(lab: InsideLab) -> list[int]:
    return [one.queue_offset for one in lab.core.journal.find(Consumed)]


@pytest.mark.parametrize(
    "pop",
    [POP, replace(POP, batch_acks=True), replace(POP, notified=True), replace(POP, poll_ms=0)],
    ids=["waits", "acks-together", "notified", "asks"],
)
@pytest.mark.parametrize("kind", ["popper", "ordered_popper"])
def test_message_is_popped_processed_and_acknowledged(
    lab: InsideLab, kind: str, pop: PopPlan
) -> None:
    popper(lab, replace(PLAN, kind=kind, ordered=kind == "ordered_popper", pop=pop))
    send(lab, b"a", b"b")
    lab.core.advance(LONG_MS)
    journal = lab.core.journal
    assert in_order(lab) == [0, 1]
    assert {one.in_order for one in journal.find(Popped)} == {kind == "ordered_popper"}
    assert [one.queue_offset for one in journal.find(Acknowledged)] == [0, 1]
    assert journal.find(Revived) == []


@pytest.mark.parametrize(("forgetting", "changes"), [(0.0, 3), (1.0, 0)])
def test_message_that_fails_comes_again_until_it_is_a_dead_letter(
    lab: InsideLab, forgetting: float, changes: int
) -> None:
    popper(lab, replace(PLAN, failing=1.0, pop=replace(POP, forgetting=forgetting)))
    send(lab, b"a")
    lab.core.advance(LONG_MS)
    journal = lab.core.journal
    assert [one.times for one in journal.find(Consumed)] == [0, 1, 2]
    assert {one.topic for one in journal.find(Consumed)} == {"orders", "%RETRY%workers_orders"}
    assert len(journal.find(InvisibleTimeChanged)) == changes
    assert len(journal.find(Revived)) == 3
    (dead,) = journal.find(DeadLettered)
    assert dead.group == "workers"
    assert len(journal.find(Acknowledged)) == 1


def test_message_that_fails_in_order_holds_the_next_one_until_it_is_a_dead_letter(
    lab: InsideLab,
) -> None:
    plan = replace(PLAN, kind="ordered_popper", ordered=True, failing=1.0)
    popper(lab, plan)
    send(lab, b"a", b"b")
    lab.core.advance(LONG_MS)
    found = [(one.queue_offset, one.times) for one in lab.core.journal.find(Consumed)]
    assert found[:3] == [(0, 0), (0, 1), (0, 2)]
    assert [one[0] for one in found[3:]] == [1] * (len(found) - 3)
    assert len(lab.core.journal.find(DeadLettered)) == 2


def test_members_follow_when_one_vanishes(lab: InsideLab) -> None:
    first = popper(lab)
    popper(lab, replace(PLAN, name="workers-2"))
    first.kill(silently=True)
    send(lab, b"a", b"b", b"c")
    lab.core.advance(LONG_MS)
    assert {one.node for one in lab.core.journal.find(Consumed)} == {"workers-2"}
    assert sorted(set(in_order(lab))) == [0, 1, 2]


def test_member_renews_the_invisible_time_while_it_works(lab: InsideLab) -> None:
    popper(lab, replace(PLAN, work_ms=200, pop=replace(POP, renewing=1.0)))
    send(lab, b"a")
    lab.core.advance(LONG_MS)
    journal = lab.core.journal
    (changed,) = journal.find(InvisibleTimeChanged)
    (acked,) = journal.find(Acknowledged)
    assert acked.pop_time_ms == changed.next_pop_time_ms
    assert journal.find(Revived) == []


def test_member_starts_when_a_name_server_answers(lab: InsideLab) -> None:
    lab.core.name_servers[0].stop("kill")
    popper(lab)
    lab.core.start_name_server(lab.core.name_servers[0])
    lab.core.broker("broker-a").register_all()
    send(lab, b"a")
    lab.core.advance(LONG_MS)
    assert in_order(lab) == [0]
