"""One movement of the cluster's time: at once, or in parts between which others are served."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Protocol

from fakemq.clock.slices import SLICE_MS
from fakemq.core import views
from fakemq.errors import ConfigError, FakemqError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.clock import Clock
    from fakemq.clock.timers import Timer
    from fakemq.core.views import Deadline
    from fakemq.journal.journal import Journal
    from fakemq.net.memory import MemoryNetwork

DAY_MS = 86_400_000
LONGEST_ADVANCE_MS = 3650 * DAY_MS
"""Ten years. An advance fires every timer on its way, so a longer one may take very long."""

SHOWN = 10_000
"""How many deadlines a movement in parts remembers: its caller is a peer."""


class MovedCluster(Protocol):
    """The cluster whose time is moved."""

    clock: Clock
    journal: Journal
    network: MemoryNetwork
    on_moved: Callable[[str], None]

    def moved(self, how: str, by_ms: int) -> int:
        """Record a change of the clock; return the number of its entry."""

    def check_wall(self, ms: int) -> None:
        """Raise ConfigError if a movement by ``ms`` leads beyond the years that are known."""

    def why_ended(self) -> str:
        """Return why time may not be moved any more; "" if it may."""


class Movement:
    """An advance by ``ms``, begun: its owner calls `at_once`, or `proceed` until it returns True.

    ``more_ms`` is called at its end, and returns how long the movement continues; None if it is
    over.

    Raise ValueError for a negative time. Raise ConfigError for more than `LONGEST_ADVANCE_MS`, or
    for a time after the year 9998.
    """

    def __init__(
        self,
        core: MovedCluster,
        ms: int,
        outside_peers: bool = False,
        more_ms: Callable[[], int | None] = lambda: None,
    ) -> None:
        if ms < 0:
            raise ValueError(f"time does not go back: {ms} ms")
        if ms > LONGEST_ADVANCE_MS:
            most = f"{LONGEST_ADVANCE_MS // DAY_MS} days"
            raise ConfigError(f"{ms} ms are too much to move at once: expected at most {most}")
        if why := core.why_ended():
            raise FakemqError(why)
        core.check_wall(ms)
        core.network.settle()
        self._core = core
        self._ms = self._left_ms = ms
        self._outside_peers = outside_peers
        self._more_ms = more_ms
        clock = core.clock
        self._began = {outside: clock.elapsed_ms(outside=outside) for outside in (False, True)}
        self._epoch = core.journal.epoch
        self._cause = core.moved("advance", ms)
        self.fired: deque[Deadline] = deque(maxlen=SHOWN)
        """The deadlines that have fired in parts, in order; the last `SHOWN` of them."""
        self.fired_count = 0
        self._is_open = True
        self.why_ended = ""
        """Set this to end the movement before its next part: the reason."""

    def at_once(self) -> list[Deadline]:
        """Move to the end and return the deadlines that fired, in order.

        Raise FakemqError if the caller has given up; time keeps the value reached then.
        """
        core = self._core
        with core.journal.because(self._cause):
            try:
                fired = core.clock.advance_ms(self._ms, outside_peers=self._outside_peers)
                while (ms := self._next_ms()) is not None:
                    fired += core.clock.advance_ms(ms, outside_peers=self._outside_peers)
            except FakemqError:
                core.moved("give up", core.clock.elapsed_ms() - self._began[False] - self._ms)
                raise
            finally:
                self._close()
        return self._shown(fired)

    def proceed(self) -> bool:
        """Move for some milliseconds of real time; return whether the movement is done.

        Raise FakemqError if it was ended; time keeps the value reached then.
        """
        core = self._core
        why = self.why_ended or core.why_ended()
        if core.journal.epoch != self._epoch:
            why = "the cluster was reset"
        if why:
            self.give_up()
            moved_ms = self._ms - self._left_ms
            raise FakemqError(f"{why}: time was moved by {moved_ms} of {self._ms} ms")
        core.network.settle()
        fired: list[Timer] = []
        with core.journal.because(self._cause):
            left_ms = core.clock.advance_part(
                self._left_ms, fired, part_ms=SLICE_MS, outside_peers=self._outside_peers
            )
            self.fired += self._shown(fired)
            self.fired_count += len(fired)
            if left_ms is not None:
                self._left_ms = left_ms
                core.network.settle()
                return False
            self._left_ms = self._next_ms() or 0
            if self._left_ms:
                return False
            self._close()
        return True

    def _next_ms(self) -> int | None:
        ms = self._more_ms()
        if ms is not None:
            self._ms += ms
            self._core.moved("advance", ms)
        return ms

    def give_up(self) -> None:
        """End the movement where it is; one that is done or has ended stays as it is."""
        core = self._core
        if self._is_open:
            if core.journal.epoch == self._epoch:
                with core.journal.because(self._cause):
                    core.moved("give up", -self._left_ms)
            self._close()

    def _shown(self, fired: list[Timer]) -> list[Deadline]:
        clock, began = self._core.clock, self._began
        return [views.fired_deadline(clock, timer, began[timer.outside]) for timer in fired]

    def _close(self) -> None:
        self._is_open = False
        self._core.network.settle()
        self._core.on_moved("advance")
