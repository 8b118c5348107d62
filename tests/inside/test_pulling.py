"""Consumers that pull, against a broker of fakemq, on its clock."""

from __future__ import annotations

import pytest

from fakemq.client.consuming.lite_pull import LitePullConsumerCore
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.client.consuming.pull import PullConsumerCore
from fakemq.client.consuming.pull_schedule import PullScheduleCore, PullTaskContext
from fakemq.client.consuming.pull_settings import PullSettings
from fakemq.inside.program import InsideProgram
from fakemq.protocol.bodies.queue import MessageQueue
from tests.support.inside_lab import InsideLab

GROUP = "billing"
QUEUES = [MessageQueue("orders", "broker-a", number) for number in range(4)]


@pytest.fixture
def lab() -> InsideLab:
    return InsideLab()


class Member:
    """A lite pull consumer in a program of its own."""

    def __init__(self, lab: InsideLab) -> None:
        self.lab = lab
        self.program: InsideProgram = lab.program(GROUP)
        chosen = LitePullSettings(group=GROUP, consume_from="first", subscribe={"orders": "*"})
        self.consumer = LitePullConsumerCore(self.program.services, chosen)
        lab.run(self.program, self.consumer.start())
        lab.core.settle()

    def poll(self) -> list[bytes]:
        """Poll until nothing comes; return the bodies."""
        bodies: list[bytes] = []
        while found := self.lab.run(self.program, self.consumer.poll(0)):
            bodies += [one.body for one in found]
            self.lab.core.settle()
        return bodies

    def commit(self) -> None:
        self.lab.run(self.program, self.consumer.commit())


def send(lab: InsideLab, first: int, count: int) -> set[bytes]:
    """Send messages; return their bodies."""
    producer = lab.program("sender")
    bodies = {b"%d" % number for number in range(first, first + count)}
    for body in sorted(bodies):
        lab.send(producer, body)
    producer.close()
    lab.core.settle()
    return bodies


def divided(*members: Member) -> bool:
    """Return whether members have all queues, each one of them."""
    owned = [queue for member in members for queue in member.consumer.assignment()]
    return sorted(owned) == QUEUES


def test_members_divide_queues_as_they_join_leave_and_die(lab: InsideLab) -> None:
    first = Member(lab)
    assert divided(first)
    second = Member(lab)
    assert divided(first, second)
    third = Member(lab)
    assert divided(first, second, third)
    lab.run(second.program, second.consumer.shutdown())
    lab.core.settle()
    assert divided(first, third)
    third.program.kill()
    lab.core.settle()
    assert divided(first)


def test_member_that_vanishes_is_replaced_when_its_time_is_over(lab: InsideLab) -> None:
    first, second = Member(lab), Member(lab)
    second.program.kill(silently=True)
    lab.core.advance(100_000)
    assert not divided(first)
    lab.core.advance(60_000)
    assert divided(first)


def test_no_message_is_lost_or_polled_twice_when_members_commit(lab: InsideLab) -> None:
    first = Member(lab)
    sent = send(lab, 0, 40)
    polled = first.poll()
    first.commit()
    second = Member(lab)
    sent |= send(lab, 40, 40)
    polled += first.poll() + second.poll()
    first.commit()
    second.commit()
    lab.run(first.program, first.consumer.shutdown())
    lab.core.settle()
    sent |= send(lab, 80, 40)
    polled += second.poll()
    assert sorted(polled) == sorted(sent)


def test_messages_without_a_commit_are_polled_again(lab: InsideLab) -> None:
    first = Member(lab)
    sent = send(lab, 0, 8)
    assert set(first.poll()) == sent
    first.program.kill()
    second = Member(lab)
    assert set(second.poll()) == sent


def test_poll_waits_on_the_clock_of_the_cluster(lab: InsideLab) -> None:
    member = Member(lab)
    outcome = member.program.begin(member.consumer.poll(60_000), "poll")
    lab.core.advance(59_999)
    assert not outcome.done
    lab.core.advance(1)
    assert outcome.result() == []
    outcome = member.program.begin(member.consumer.poll(60_000), "poll")
    sent = send(lab, 0, 1)
    assert {one.body for one in outcome.result()} == sent


def test_broker_that_was_silent_is_read_from_again(lab: InsideLab) -> None:
    member = Member(lab)
    sent = send(lab, 0, 8)
    assert set(member.poll()) == sent
    broker = lab.core.broker("broker-a")
    broker.pause()
    lab.core.advance(45_000)
    broker.resume()
    lab.core.advance(10_000)
    sent = send(lab, 8, 8)
    polled = set(member.poll())
    # The broker may know two connections of the member for a while, as in Java: then it is in the
    # list twice, and has half of the queues until its next heartbeat.
    lab.core.advance(60_000)
    assert sent <= polled | set(member.poll())
    assert divided(member)


def test_full_consumer_without_polls_lets_time_pass_quickly(lab: InsideLab) -> None:
    member = Member(lab)
    for number in range(4):
        assert member.consumer.assignment()[number] == QUEUES[number]
    send(lab, 0, 40)
    lab.core.advance(2 * 3_600_000)
    assert len(member.poll()) == 40


def test_schedule_pulls_every_message_once(lab: InsideLab) -> None:
    program = lab.program(GROUP)
    bodies: list[bytes] = []

    def work(queue: MessageQueue, context: PullTaskContext[PullConsumerCore]) -> None:
        consumer, run = context.pull_consumer, lab.run
        offset = run(program, consumer.fetch_consume_offset(queue)) or 0
        pulled = run(program, consumer.pull(queue, offset, max_messages=3))
        bodies.extend(one.body for one in pulled.messages)
        consumer.update_consume_offset(queue, pulled.next_begin_offset)
        context.set_pull_next_delay_ms(0 if pulled.messages else 1_000)

    schedule = PullScheduleCore(program.services, PullSettings(group=GROUP), _same)
    schedule.register_pull_task_callback("orders", work)
    sent = send(lab, 0, 40)
    lab.run(program, schedule.start())
    lab.core.advance(20_000)
    assert sorted(bodies) == sorted(sent)
    lab.run(program, schedule.shutdown())
    again = Member(lab)
    assert again.poll() == []


def _same(consumer: PullConsumerCore) -> PullConsumerCore:
    return consumer
