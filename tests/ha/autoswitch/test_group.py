"""Replicas under a controller that the test plays: no acknowledged message is ever lost.

The controller elects only members of the last set that it has accepted, as a real one does.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from fakemq.dispatch.node import NodeState
from fakemq.protocol.codes import ResponseCode
from fakemq.protocol.message import decode_record
from tests.support.autoswitch_lab import AutoSwitched
from tests.support.peer import Answer
from tests.support.replication import log_bytes

IDS_OF_ALL = (1, 2, 3)
IDS = st.sampled_from(IDS_OF_ALL)


class Replicas(RuleBasedStateMachine):
    """Three replicas: sends, pauses, kills, returns and elections in any order.

    A master is never paused: it would not learn that it is one no more, and what it acknowledges
    alone is cut at its return, as Java's is (apache/rocketmq#7017).
    """

    def __init__(self) -> None:
        super().__init__()
        self.group = AutoSwitched(3, all_ack_in_sync_state_set=True)
        self.sent: list[tuple[Answer, bytes]] = []
        self.has_master = False

    def teardown(self) -> None:
        self.group.lab.free()

    def state(self, number: int) -> NodeState:
        return self.group.brokers[number].state

    @initialize(first=IDS, is_answered=st.booleans())
    def begin(self, first: int, is_answered: bool) -> None:
        self.group.is_answered = is_answered
        self.group.elect(first)
        self.group.agree()
        self.has_master = True

    def elect(self) -> None:
        """Elect a member of the set that runs, and let all others that run follow it."""
        running = [number for number in IDS_OF_ALL if self.state(number) is NodeState.RUNNING]
        able = [number for number in running if number in self.group.accepted]
        self.has_master = bool(able)
        if able:
            self.group.elect(able[0], slaves=running)

    @rule(size=st.sampled_from([1, 500, 40_000]))
    def send(self, size: int) -> None:
        if self.has_master:
            body = b"%d %s" % (len(self.sent), b"x" * size)
            self.sent.append((self.group.send(body), body))
            self.group.network.settle()

    @rule()
    def send_to_the_master_alone(self) -> None:
        """Slaves are sent it 100 ms later.

        A master that does not know its set confirms alone what no slave has: Java's asks for the
        size of its own set there, and ignores slaves that have not reported yet.
        Source: store/CommitLog.java#getConfirmOffset, AutoSwitchHAService#computeConfirmOffset
        """
        if self.has_master and self.group.master.sync_set.is_settled:
            self.group.send(b"perhaps", properties="WAIT\x01false")
            self.group.network.settle()

    @rule(ms=st.sampled_from([1, 100, 3_000, 6_000, 21_000]))
    def pass_time(self, ms: int) -> None:
        self.group.lab.pass_time(ms)
        if self.has_master:
            self.group.master.check_set()
            self.group.network.settle()

    @rule()
    def lose_master_before_its_slaves_read(self) -> None:
        """A message that the slaves have not read may be lost only if it was not acknowledged."""
        if not self.has_master:
            return
        for number in IDS_OF_ALL:
            self.pause(number)
        self.send(1)
        self.kill(self.group.master_id)
        for number in IDS_OF_ALL:
            self.resume(number)

    @rule()
    def recover(self) -> None:
        """Let all run, and all join the set."""
        for number in IDS_OF_ALL:
            self.start(number)
            self.resume(number)
        self.group.is_answered = True
        self.poll()
        self.group.agree()

    @rule(is_answered=st.booleans())
    def lose_answers(self, is_answered: bool) -> None:
        """Lose the controller's answers: it accepts sets, and the master does not learn it."""
        self.group.is_answered = is_answered

    @rule()
    def poll(self) -> None:
        """Let the master ask the controller for its set."""
        if self.has_master:
            self.group.take(self.group.accepted)
            self.group.network.settle()

    @rule(number=IDS)
    def pause(self, number: int) -> None:
        is_master = self.has_master and number == self.group.master_id
        if not is_master and self.state(number) is NodeState.RUNNING:
            self.group.brokers[number].pause()

    @rule(number=IDS)
    def resume(self, number: int) -> None:
        if self.state(number) is NodeState.PAUSED:
            self.group.brokers[number].resume()
            self.group.network.settle()
            self.back(number)

    @rule(number=IDS)
    def kill(self, number: int) -> None:
        if self.state(number).is_up:
            self.group.brokers[number].kill()
            self.group.network.settle()
            if self.has_master and number == self.group.master_id:
                self.elect()

    @rule(number=IDS)
    def start(self, number: int) -> None:
        if not self.state(number).is_up:
            self.group.restart(number)
            self.back(number)

    @rule()
    def change_master(self) -> None:
        """An administrator asks for another member."""
        if self.has_master:
            before = self.group.master_id
            self.group.accepted -= {before}
            if any(self.state(one) is NodeState.RUNNING for one in self.group.accepted):
                self.elect()
            else:
                self.group.accepted |= {before}

    def back(self, number: int) -> None:
        if self.has_master:
            self.group.follow(number)
        elif number in self.group.accepted:
            self.elect()

    @invariant()
    def nothing_acknowledged_is_missing(self) -> None:
        if not self.has_master:
            return
        log = self.group.store(self.group.master_id).log
        there = {decode_record(data).body for _, data in log.records(0, log.max_offset)}
        for answer, body in self.sent:
            if answer.response is not None and answer.response.code == ResponseCode.SUCCESS:
                assert body in there

    @invariant()
    def confirmed_logs_are_equal(self) -> None:
        stores = [self.group.store(number) for number in self.group.brokers]
        for one in stores:
            for other in stores:
                end = min(one.confirm_offset, other.confirm_offset)
                assert log_bytes(one, 0, end) == log_bytes(other, 0, end)

    @invariant()
    def queue_of_the_master_is_dense(self) -> None:
        if self.has_master:
            store = self.group.store(self.group.master_id)
            offsets = [one.queue_offset for one in store.messages_in_queue("orders", 0)]
            assert offsets == [*range(len(offsets))]

    @invariant()
    def queue_has_what_is_confirmed(self) -> None:
        if self.has_master:
            store, ha = self.group.store(self.group.master_id), self.group.master
            queue = store.consume_queue("orders", 0)
            end = 0 if queue is None else queue.max_physic_offset
            assert end <= ha.confirm_offset


TestReplicas = Replicas.TestCase
TestReplicas.settings = settings(max_examples=15, stateful_step_count=30, deadline=None)
