"""Rate-limited warnings about peers."""

from __future__ import annotations

import pytest

from fakemq.clock.clock import Clock
from fakemq.events import Warned
from fakemq.journal.journal import Journal
from fakemq.journal.warnings import MAX_LINES, PERIOD_MS
from tests.support.time import ManualTime


class WarningsLab:
    def __init__(self) -> None:
        self.time = ManualTime()
        self.clock = Clock(frozen=True, source=self.time)
        self.journal = Journal(self.clock)

    def offend(self, times: int, kind: str = "frame", node: str = "broker-a-0") -> None:
        for number in range(times):
            self.journal.peer_warnings.warn(node, kind, f"{kind} {number}")

    def real_time_passes(self, ms: int) -> None:
        self.time.passed_ms += ms
        self.clock.fire_due()

    def notified(self) -> list[str]:
        """What was warned of since the last look."""
        texts = [event.text for event in self.journal.find(Warned)]
        self.journal.clear()
        return texts


@pytest.fixture
def lab() -> WarningsLab:
    return WarningsLab()


def test_first_warnings_are_written_one_by_one_without_a_timer(lab: WarningsLab) -> None:
    lab.offend(MAX_LINES)
    assert lab.notified() == [f"frame {number}" for number in range(MAX_LINES)]
    assert lab.clock.timers() == []


def test_further_warnings_of_a_flood_are_counted(lab: WarningsLab) -> None:
    lab.offend(4_000)
    assert len(lab.notified()) == MAX_LINES
    lab.real_time_passes(PERIOD_MS - 1)
    lab.offend(312)
    assert lab.notified() == []
    lab.real_time_passes(1)
    assert lab.notified() == ["4302 more of this kind within 60 s: frame"]
    assert lab.clock.timers() == []


def test_warnings_are_written_again_after_a_minute(lab: WarningsLab) -> None:
    lab.offend(MAX_LINES)
    lab.real_time_passes(PERIOD_MS)
    lab.offend(MAX_LINES + 1)
    assert len(lab.notified()) == 2 * MAX_LINES
    lab.real_time_passes(PERIOD_MS)
    assert lab.notified() == ["1 more of this kind within 60 s: frame"]


def test_nodes_and_kinds_are_counted_separately(lab: WarningsLab) -> None:
    lab.offend(MAX_LINES + 5)
    lab.offend(1, kind="accept")
    lab.offend(1, node="namesrv-0")
    assert lab.notified()[MAX_LINES:] == ["accept 0", "frame 0"]
