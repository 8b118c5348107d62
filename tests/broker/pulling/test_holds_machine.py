"""Held pulls in a hundred orders: each answered once, at Java's check, never before."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fakemq.events import PullWoken
from fakemq.protocol.codes import ResponseCode
from tests.support.broker_lab import BrokerLab
from tests.support.clients import SUSPEND_MS, TOPIC, code, hold_timers, long_pull, send
from tests.support.peer import Answer, Peer

GRID_MS = 5_000


class _Pull:
    def __init__(self, answer: Answer, tag: str, queue_id: int, since_ms: int) -> None:
        self.answer = answer
        self.tag = tag
        self.queue_id = queue_id
        self.expires_ms = since_ms + SUSPEND_MS
        self.passed_by_ms: int | None = None
        """When a message arrived that is not for it."""

    def latest_ms(self) -> int:
        """The check at which it is answered at the latest."""
        since_ms = self.expires_ms
        if self.passed_by_ms is not None:
            since_ms = min(since_ms, self.passed_by_ms)
        return max(1, -(-since_ms // GRID_MS)) * GRID_MS  # the first is not before 5 s


class Holds(RuleBasedStateMachine):
    """Pulls from the end of their queue, arrivals, closes and time."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = BrokerLab()
        self.broker = self.lab.broker()
        self.broker.create_topic(TOPIC, 2)
        self.now_ms = 0
        self.ends = [0, 0]
        self.pulls: dict[Peer, list[_Pull]] = {}
        self.answered: list[_Pull] = []

    @rule(tag=st.sampled_from("ab"), queue_id=st.integers(0, 1), again=st.booleans())
    def hold(self, tag: str, queue_id: int, again: bool) -> None:
        open_peers = [peer for peer in self.pulls if not peer.closed]
        peer = open_peers[-1] if again and open_peers else self.lab.peer(self.broker.addr)
        offset = self.ends[queue_id]
        answer = long_pull(peer, offset, queue_id=queue_id, subscription=tag)
        assert not answer.over
        self.pulls.setdefault(peer, []).append(_Pull(answer, tag, queue_id, self.now_ms))

    @rule(tag=st.sampled_from("abc"), queue_id=st.integers(0, 1))
    def arrive(self, tag: str, queue_id: int) -> None:
        send(self.lab.peer(self.broker.addr), tag, queue_id=queue_id)
        self.ends[queue_id] += 1
        for pull in [pull for pulls in self.pulls.values() for pull in pulls]:
            if pull.queue_id != queue_id:
                continue
            if pull.tag == tag:
                assert code(pull.answer) == ResponseCode.SUCCESS
            elif self.now_ms >= pull.expires_ms:
                assert pull.answer.over
            elif pull.passed_by_ms is None:
                assert not pull.answer.over
                pull.passed_by_ms = self.now_ms
        self._drop_answered()

    @precondition(lambda self: self.pulls)
    @rule()
    def arrive_unwanted(self) -> None:
        self.arrive("c", next(iter(self.pulls.values()))[0].queue_id)

    @rule(ms=st.sampled_from([1, 700, 4_999, 5_000, 6_000, 12_345, 20_000]))
    def wait(self, ms: int) -> None:
        self.lab.clock.advance(ms / 1000)
        self.now_ms += ms
        for pulls in self.pulls.values():
            for pull in pulls:
                due = pull.latest_ms() <= self.now_ms
                assert pull.answer.over is due, (pull.latest_ms(), self.now_ms)
                if due and pull.passed_by_ms is None:
                    assert code(pull.answer) == ResponseCode.PULL_NOT_FOUND
                elif due:
                    assert code(pull.answer) == ResponseCode.PULL_RETRY_IMMEDIATELY
        self._drop_answered()

    @rule(which=st.integers(0, 9))
    def close(self, which: int) -> None:
        peers = list(self.pulls)
        if peers:
            peer = peers[which % len(peers)]
            del self.pulls[peer]
            peer.close()

    def _drop_answered(self) -> None:
        for peer, pulls in list(self.pulls.items()):
            self.answered += [pull for pull in pulls if pull.answer.over]
            left = [pull for pull in pulls if not pull.answer.over]
            if left:
                self.pulls[peer] = left
            else:
                del self.pulls[peer]

    @invariant()
    def books_balance(self) -> None:
        waiting = sum(len(pulls) for pulls in self.pulls.values())
        assert len(self.broker.holds.snapshot()) == waiting
        assert len(self.lab.journal.find(PullWoken)) == len(self.answered)
        assert len(hold_timers(self.lab)) <= 4 + waiting
        assert bool(hold_timers(self.lab)) is bool(waiting)

    def teardown(self) -> None:
        self.lab.free()


TestHolds = Holds.TestCase
# About a second: fewer runs miss a tag that passes by between two checks.
TestHolds.settings = settings(deadline=None, max_examples=40, stateful_step_count=30)
