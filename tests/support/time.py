"""Real time as a test has it: it passes when the test says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq import Cluster

START_MS = 1_700_000_000_000
"""2023-11-14T22:13:20Z, when the time of most tests begins."""


class ManualTime:
    """A machine's time that stands until a test adds to ``passed_ms``."""

    def __init__(self) -> None:
        self.passed_ms = 0

    def wall_ms(self) -> int:
        return START_MS + self.passed_ms

    def elapsed_ms(self) -> int:
        return self.passed_ms


def skip_nothing(mq: Cluster) -> None:
    """Let an advance of an idle cluster take long: its routine fires each time it is due."""
    mq.inspect(lambda core: setattr(core.clock, "may_skip", lambda: False))
