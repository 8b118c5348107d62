"""The bar of an audit."""

from __future__ import annotations

from typing import Any, NamedTuple

from fakemq.spark.audit.command import STEPS, AuditBar
from tests.support.terminal import HandTime, Terminal


class Stage(NamedTuple):
    numTasks: int  # noqa: N815 - Spark's name
    numCompletedTasks: int  # noqa: N815


class Tracker:
    """Spark's, with stages that a test sets."""

    def __init__(self) -> None:
        self.stages: dict[int, Stage | None] = {}

    def getActiveStageIds(self) -> list[int]:  # noqa: N802
        return list(self.stages)

    def getStageInfo(self, number: int) -> Stage | None:  # noqa: N802
        return self.stages[number]


def test_bar_counts_steps_and_the_tasks_within_them() -> None:
    out, time = Terminal(), HandTime()
    bar = AuditBar(out, time=time)
    tracker: Any = Tracker()
    bar.step()
    bar.tracker = tracker
    time.ms = 20_000
    bar.look()
    assert f"1 of {STEPS} steps, 3.0/min, 7 min 0 s left" in out.getvalue()
    tracker.stages = {4: Stage(30, 15), 5: Stage(10, 5), 6: None}
    time.ms += 1_000
    bar.look()
    assert "  7% 1 of" in out.getvalue()
    tracker.stages = {}
    time.ms += 1_000
    bar.look()
    assert out.getvalue().rpartition("\r")[2].count("  7% 1 of") == 1, "it does not go back"
    for _ in range(STEPS):
        bar.step()
    time.ms += 1_000
    bar.look()
    assert f"100% {STEPS} of {STEPS} steps" in out.getvalue()


def test_bar_is_gone_at_the_end_and_other_outputs_have_none() -> None:
    out = Terminal()
    with AuditBar(out, time=HandTime()) as bar:
        bar.step()
    assert out.getvalue() == ""
    with AuditBar(Silent()) as bar:
        assert not bar._thread.is_alive()


class Silent(Terminal):
    """A file."""

    def isatty(self) -> bool:
        return False
