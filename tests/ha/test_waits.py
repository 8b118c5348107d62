"""Waits for slaves are answered in order, by acks and at Java's looks."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakemq.clock.clock import Clock
from fakemq.clock.node_clock import NodeClock
from fakemq.ha.waits import GroupTransferService
from tests.support.time import START_MS


class WaitsLab:
    def __init__(self) -> None:
        self.clock = Clock(frozen=True, start_at_ms=START_MS)
        self.service = GroupTransferService(NodeClock(self.clock, "lab"))
        self.notified: list[tuple[int, int, bool]] = []
        """Elapsed time, offset and outcome."""
        self._start_ms = self.clock.elapsed_ms()

    def wait(self, offset: int, timeout_ms: int = 3_000) -> None:
        self.service.put_request(offset, timeout_ms, partial(self._tell, offset), outside=False)

    def _tell(self, offset: int, transferred: bool) -> None:
        self.notified.append((self.clock.elapsed_ms() - self._start_ms, offset, transferred))

    def ack(self, offset: int) -> None:
        self.service.notify_transfer_some(offset)


def test_ack_releases_covered_waits_in_order() -> None:
    lab = WaitsLab()
    for offset in (10, 20, 30):
        lab.wait(offset)
    lab.ack(25)
    assert lab.notified == [(0, 10, True), (0, 20, True)]
    lab.wait(22)  # behind one that waits, and done already
    assert len(lab.service) == 2
    lab.ack(30)
    assert [offset for _, offset, _ in lab.notified] == [10, 20, 30, 22]
    lab.wait(5)
    assert lab.notified[-1] == (0, 5, True)
    assert lab.clock.timers() == []


def test_first_wait_times_out_and_the_next_at_its_own_look() -> None:
    lab = WaitsLab()
    lab.wait(10)
    lab.clock.advance_ms(100)
    lab.wait(20)
    lab.clock.advance_ms(10_000)
    # Java looks every second from the moment at which it comes to a request.
    assert lab.notified == [(3_000, 10, False), (4_000, 20, False)]


def test_insufficient_acks_delay_the_look() -> None:
    lab = WaitsLab()
    lab.wait(10)
    lab.clock.advance_ms(2_500)
    lab.ack(5)
    lab.clock.advance_ms(10_000)
    assert lab.notified == [(3_500, 10, False)]


def test_waits_that_expired_meanwhile_end_at_once() -> None:
    lab = WaitsLab()
    lab.wait(10)
    lab.wait(20, timeout_ms=500)
    lab.clock.advance_ms(3_000)
    assert lab.notified == [(3_000, 10, False), (3_000, 20, False)]


def test_answer_may_start_another_wait() -> None:
    lab = WaitsLab()
    lab.service.put_request(10, 3_000, lambda _: lab.wait(11), outside=False)
    lab.ack(20)
    assert lab.notified == [(0, 11, True)]


def test_failing_answer_blocks_no_other() -> None:
    lab = WaitsLab()

    def fail(transferred: bool) -> None:
        raise RuntimeError(f"answered {transferred}")

    lab.service.put_request(10, 3_000, fail, outside=False)
    lab.wait(20)
    with pytest.raises(RuntimeError, match="answered False"):
        lab.clock.advance_ms(3_000)
    lab.clock.advance_ms(1_000)
    assert lab.notified == [(4_000, 20, False)]


def test_closed_queue_answers_no_wait() -> None:
    lab = WaitsLab()
    lab.wait(10)
    lab.service.stop()
    lab.clock.advance_ms(10_000)
    assert (lab.notified, lab.clock.timers()) == ([], [])


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("wait"), st.integers(1, 50)),
            st.tuples(st.just("ack"), st.integers(1, 50)),
            st.tuples(st.just("pass"), st.integers(1, 4_000)),
        )
    )
)
def test_every_wait_is_answered_once_in_order_and_never_early(steps: list[tuple[str, int]]) -> None:
    lab = WaitsLab()
    acked, offset, begun = 0, 0, []
    for what, number in steps:
        if what == "wait":
            offset += number
            begun.append((lab.clock.elapsed_ms(), offset))
            lab.wait(offset)
        elif what == "ack" and number > acked:
            acked = number
            lab.ack(acked)
        elif what == "pass":
            lab.clock.advance_ms(number)
        assert all(at <= acked for _, at, transferred in lab.notified if transferred)
        assert len(lab.service) == 0 or begun[len(lab.notified)][1] > acked
    lab.clock.advance_ms(10_000 + 4_000 * len(begun))
    assert [at for _, at, _ in lab.notified] == [at for _, at in begun]
    for (answered_ms, _, transferred), (begun_ms, _) in zip(lab.notified, begun, strict=True):
        if not transferred:
            assert answered_ms + lab._start_ms - begun_ms >= 3_000
