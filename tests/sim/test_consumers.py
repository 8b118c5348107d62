"""The simulator's consumers: members that start when they can, and readers of every queue."""

from __future__ import annotations

from fakemq.clock.slices import finished
from fakemq.randomness import Randomness
from fakemq.sim.consumers import AFTER_ERROR_MS, MemberConsumer, Reader
from fakemq.sim.events import Consumed, Received
from fakemq.sim.plan import ConsumerPlan
from tests.support.inside_lab import InsideLab

PLAN = ConsumerPlan(
    name="workers-1",
    group="workers",
    kind="member",
    topics=("orders",),
    ordered=False,
    work_ms=20,
    failing=0.0,
    tries=3,
    batch=8,
    threads=3,
)


def consumer(lab: InsideLab, kind: type[MemberConsumer | Reader]) -> MemberConsumer | Reader:
    client = kind(lab.core, PLAN, Randomness(1).stream("consumer"))
    client.start()
    return client


def test_member_begins_and_ends_each_message(lab: InsideLab) -> None:
    consumer(lab, MemberConsumer)
    lab.send(lab.program(), b"x")
    lab.core.advance(20)
    journal = lab.core.journal
    (began,), (ended,) = journal.find(Received, node="workers-1")[:1], journal.find(Consumed)
    assert ended == Consumed.of(began, well=True)


def test_member_starts_when_a_name_server_answers(lab: InsideLab) -> None:
    lab.core.name_servers[0].stop("kill")
    member = consumer(lab, MemberConsumer)
    lab.core.advance(1)
    assert not member.services.consumers
    lab.core.start_name_server(lab.core.name_servers[0])
    lab.core.broker("broker-a").register_all()
    lab.core.advance(AFTER_ERROR_MS)
    lab.send(lab.program(), b"x")
    lab.core.advance(20)
    assert len(lab.core.journal.find(Consumed)) == 1


def test_reader_reads_every_queue_without_a_group(lab: InsideLab) -> None:
    program = lab.program()
    for number in range(8):
        lab.send(program, b"%d" % number)
    consumer(lab, Reader)
    lab.core.advance(1_000)
    found = lab.core.journal.find(Consumed)
    assert {one.queue_id for one in found} == {0, 1, 2, 3}
    assert len(found) == 8
    assert finished(lab.core.broker("broker-a").consumers.groups_of_topic("orders")) == []
