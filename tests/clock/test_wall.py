"""Wall time of a running clock: in step with the axis, and with the machine's corrections."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakemq.clock.clock import Clock
from tests.support.time import ManualTime


class TwoPhases:
    """A source whose wall and elapsed time reach their next millisecond at different moments."""

    def __init__(self, phase_us: int) -> None:
        self.passed_us, self._phase_us = 0, phase_us

    def wall_ms(self) -> int:
        return (1_700_000_000_000_000 + self._phase_us + self._tick_us()) // 1000

    def elapsed_ms(self) -> int:
        return self._tick_us() // 1000

    def _tick_us(self) -> int:
        self.passed_us += 7  # a read takes time, too
        return self.passed_us


@given(phase_us=st.integers(0, 999), sleeps_us=st.lists(st.integers(0, 3000), max_size=40))
def test_wall_and_axis_move_together(phase_us: int, sleeps_us: list[int]) -> None:
    """So a message whose time has come by the wall is due by its timer, and the reverse."""
    source = TwoPhases(phase_us)
    clock = Clock(source=source)
    seen: list[int] = []
    for sleep_us in sleeps_us:
        source.passed_us += sleep_us
        clock.hold_moment()
        due_ms = clock.now_ms() + 5
        clock.call_later(5, lambda: seen.append(clock.now_ms()), kind="kv_config_print", owner="n")
        clock.release_moment()
        before_ms = clock.now_ms()
        clock.advance_ms(clock.due_in_ms(clock.next_of("kv_config_print")))
        assert seen.pop() == due_ms
        assert clock.now_ms() >= before_ms


class Corrected(ManualTime):
    """A machine whose wall time is corrected, and whose reads can be interrupted."""

    correction_ms = 0
    interruption_ms = 0
    """Passes before the next read of the wall, once."""

    def wall_ms(self) -> int:
        self.passed_ms += self.interruption_ms
        self.interruption_ms = 0
        return super().wall_ms() + self.correction_ms


def test_wall_takes_a_correction_of_the_machine_over() -> None:
    machine = Corrected()
    clock = Clock(source=machine)
    began_ms = clock.now_ms()
    machine.correction_ms = -500
    machine.passed_ms += 100
    assert clock.now_ms() == began_ms - 400


def test_interruption_between_two_reads_is_no_correction() -> None:
    machine = Corrected()
    clock = Clock(source=machine)
    began_ms = clock.now_ms()
    machine.passed_ms += 100
    machine.interruption_ms = 40
    assert clock.now_ms() == began_ms + 100
    machine.passed_ms += 1
    assert clock.now_ms() == began_ms + 141
