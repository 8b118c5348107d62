"""The bar of the command ``audit``: how many of its steps are done, how fast, and the time left.

Within a step it shows the tasks of Spark that are under way. Small stores take Spark the same time
in each step, for its plans; in large ones those that read take longest.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self, TextIO

from fakemq.clock.progress import Progress

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark import StatusTracker

    from fakemq.clock.machine_time import TimeSource

STEPS = 22
"""How often the command calls `AuditBar.step`."""
LOOK_EVERY_S = 0.25


class AuditBar:
    """Draws while its block runs, if its stream is a terminal, on a thread of its own."""

    def __init__(self, stream: TextIO, *, time: TimeSource | None = None) -> None:
        self._shows = stream.isatty()
        self._progress = Progress(STEPS, stream, "steps", title="audit", time=time)
        self._steps = 0
        self._shown = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, name="fakemq-audit-bar", daemon=True)
        self.tracker: StatusTracker | None = None
        """Of the Spark session, once there is one."""

    def __enter__(self) -> Self:
        if self._shows:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._shows:
            self._thread.join()
        self._progress.clear()

    def step(self) -> None:
        """Count one more step as done."""
        self._steps += 1

    def look(self) -> None:
        """Draw what is done by now."""
        # A step may have several stages, one after another: the bar does not go back.
        within = min(0.9, self._part_of_stages())
        self._shown = max(self._shown, self._steps + within)
        self._progress.reached(min(self._shown, STEPS))

    def _draw(self) -> None:
        while not self._over.wait(LOOK_EVERY_S):
            self.look()

    def _part_of_stages(self) -> float:
        tracker = self.tracker
        if tracker is None:
            return 0.0
        try:
            stages = [tracker.getStageInfo(one) for one in tracker.getActiveStageIds()]
        except Exception:  # the session ends meanwhile; a bar is no reason to fail
            return 0.0
        tasks = sum(one.numTasks for one in stages if one is not None)
        done = sum(one.numCompletedTasks for one in stages if one is not None)
        return done / tasks if tasks else 0.0
