"""What a broker of a group does again and again, by the kind of its timer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fakemq.clock.timers import LEAST_PERIOD_MS, is_regular, notes_nothing
from fakemq.later import Later

if TYPE_CHECKING:
    from collections.abc import Callable

    from fakemq.clock.node_clock import NodeClock
    from fakemq.clock.timers import Routine, Timer


class Timetable:
    """The periodic work of one broker, and its pauses.

    ``outside`` says whether its peers (controllers, name servers) are outside the cluster, so that
    real time counts.
    """

    def __init__(self, clock: NodeClock, outside: Callable[[], bool]) -> None:
        self._clock = clock
        self._outside = outside
        self._timers: dict[str, Timer] = {}

    def every(
        self,
        kind: str,
        first_ms: int,
        period_ms: Callable[[], int],
        act: Callable[[], Later[Any] | None],
        *,
        routine: Callable[[], Routine | None] = lambda: notes_nothing,
        is_noticed: bool = True,
    ) -> None:
        """Call ``act`` after ``first_ms``, then each ``period_ms``; once for each ``kind``.

        Work that waits returns what is done at its end: until then no tick begins it again.

        ``routine`` returns how to skip the next tick, see `fakemq.clock.timers`; None if that may
        not be. Of work of another period than routine has, none is skipped, unless no peer notices
        it: then ``is_noticed`` is False.
        """
        under_way: Later[Any] | None = None

        def tick() -> None:
            nonlocal under_way
            wait(max(LEAST_PERIOD_MS, period_ms()))
            if under_way is None or under_way.done:
                under_way = act()

        def wait(delay_ms: int) -> None:
            is_in_cycle = is_regular(period_ms())
            self._timers[kind] = self._clock.call_later(
                delay_ms,
                tick,
                kind=kind,
                outside=self._outside(),
                routine=routine() if is_in_cycle or not is_noticed else None,
                grid_ms=0 if is_in_cycle else period_ms(),
            )

        self.cancel(kind)
        wait(first_ms)

    def pause(self, kind: str, ms: int) -> Later[None]:
        """Return what is done after ``ms``."""
        later: Later[None] = Later()
        self._timers[kind] = self._clock.call_later(
            ms, lambda: later.resolve(None), kind=kind, outside=self._outside()
        )
        return later

    def cancel(self, kind: str) -> None:
        """End the work of a kind; nothing happens if there is none."""
        self._clock.cancel(self._timers.pop(kind, None))

    def cancel_all(self) -> None:
        """End all of it, pauses too."""
        for kind in list(self._timers):
            self.cancel(kind)
