"""Members of one group join, leave, die and vanish in any order: queues are divided each time."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from fakemq.client.consuming.allocation import averagely_by_circle
from fakemq.client.consuming.lite_pull import LitePullConsumerCore
from fakemq.client.consuming.lite_settings import LitePullSettings
from fakemq.inside.program import InsideProgram
from tests.support.inside_lab import InsideLab

QUEUES = 4
BROKER_FORGETS_MS = 160_000
"""A broker forgets a silent member after 120 s, looks every 10 s, and members divide every 20 s."""


class Member:
    def __init__(self, lab: InsideLab) -> None:
        self.lab = lab
        self.program: InsideProgram = lab.program("billing")
        self.consumer = LitePullConsumerCore(
            self.program.services,
            LitePullSettings(
                group="billing",
                consume_from="first",
                subscribe={"orders": "*"},
                allocate=averagely_by_circle,
            ),
        )
        lab.run(self.program, self.consumer.start())

    def poll(self) -> list[bytes]:
        """Poll and commit until nothing comes."""
        bodies: list[bytes] = []
        while found := self.lab.run(self.program, self.consumer.poll(0)):
            bodies += [one.body for one in found]
            self.lab.run(self.program, self.consumer.commit())
            self.lab.core.settle()
        return bodies


class Membership(RuleBasedStateMachine):
    """No queue has two members or none, once the brokers know which members are there."""

    members = Bundle("members")

    def __init__(self) -> None:
        super().__init__()
        self.lab = InsideLab()
        self.alive: list[Member] = []
        self.silent = False
        self.sent: list[bytes] = []
        self.polled: list[bytes] = []
        self.producer = self.lab.program("sender")

    @precondition(lambda self: len(self.alive) < 6)
    @rule(target=members)
    def join(self) -> Member:
        member = Member(self.lab)
        self.alive.append(member)
        self.lab.core.settle()
        return member

    @rule(member=consumes(members))
    def leave(self, member: Member) -> None:
        self.alive.remove(member)
        self.polled += member.poll()
        self.lab.run(member.program, member.consumer.shutdown())
        self.lab.core.settle()

    @rule(member=consumes(members))
    def die(self, member: Member) -> None:
        self.alive.remove(member)
        member.program.kill()
        self.lab.core.settle()

    @rule(target=members, member=consumes(members))
    def vanish(self, member: Member) -> object:
        self.alive.remove(member)
        member.program.kill(silently=True)
        self.silent = True
        return multiple()

    @rule(count=st.integers(1, 9))
    def send(self, count: int) -> None:
        for _ in range(count):
            body = b"%d" % len(self.sent)
            self.lab.send(self.producer, body)
            self.sent.append(body)
        self.lab.core.settle()

    @rule()
    def poll(self) -> None:
        for member in self.alive:
            self.polled += member.poll()

    @rule(ms=st.sampled_from([100, 20_000, BROKER_FORGETS_MS]))
    def wait(self, ms: int) -> None:
        self.lab.core.advance(ms)
        self.silent = self.silent and ms < BROKER_FORGETS_MS

    @invariant()
    def queues_have_one_member_each(self) -> None:
        owned = [queue for one in self.alive for queue in one.consumer.assignment()]
        assert len(owned) == len(set(owned)), "a queue has two members"
        if self.alive and not self.silent:
            assert len(owned) == QUEUES, "a queue has no member"

    def teardown(self) -> None:
        try:
            if not self.alive:
                self.join()
            self.lab.core.advance(BROKER_FORGETS_MS)
            self.poll()
            # Each poll is committed at once, so that no message comes to two members.
            assert sorted(self.polled) == sorted(self.sent)
        finally:
            self.lab.core.free()  # its log has a GiB of addresses, and there are many examples


TestMembership = Membership.TestCase
TestMembership.settings = settings(max_examples=10, stateful_step_count=30, deadline=None)
