"""Rate-limited warnings about peers.

A warning is one `Warned` entry. A peer that breaks the rules a thousand times causes `MAX_LINES`
entries and one more that counts the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fakemq.clock.clock import Clock
from fakemq.events.core import Event, Warned

MAX_LINES: Final = 10
"""How many warnings of one kind at one node are written within `PERIOD_MS`."""
PERIOD_MS: Final = 60_000
"""The time after which a new count begins; further warnings within it are only counted."""


class _Period:
    """The warnings of one kind at one node, within `PERIOD_MS` of the first."""

    __slots__ = ("count", "since_ms")

    def __init__(self, since_ms: int) -> None:
        self.since_ms = since_ms
        self.count = 0


class PeerWarnings:
    """Writes warnings about peers, and counts those that come too often.

    It uses real time, as the peers do, also while the cluster's clock is frozen.
    """

    def __init__(self, clock: Clock, add: Callable[[Event], int]) -> None:
        self._clock = clock
        # Writes an entry to the journal.
        self._add = add
        # The period that has begun, by node and kind of warning.
        self._periods: dict[tuple[str, str], _Period] = {}

    def warn(self, node: str, kind: str, text: str) -> None:
        """Write a warning about a peer of ``node``, or only count it after `MAX_LINES`.

        ``kind`` is one of a fixed set of texts: it is kept, so it must not contain a peer's text.
        """
        now_ms = self._clock.elapsed_ms(outside=True)
        period = self._periods.get((node, kind))
        if period is None or now_ms - period.since_ms >= PERIOD_MS:
            self._end(node, kind)
            period = self._periods[node, kind] = _Period(now_ms)
        period.count += 1
        if period.count <= MAX_LINES:
            self._add(Warned(node=node, text=text))
        elif period.count == MAX_LINES + 1:
            # Without this timer the count would be written only when the next warning comes.
            self._clock.call_later(
                period.since_ms + PERIOD_MS - now_ms,
                lambda: self._end(node, kind, period),
                kind="offences",  # public: a value of `TimerFired.kind`
                owner=node,
                outside=True,
            )

    def _end(self, node: str, kind: str, ended: _Period | None = None) -> None:
        """Write how many warnings were only counted; ``ended`` must still be the period."""
        period = self._periods.get((node, kind))
        if period is None or (ended is not None and ended is not period):
            return
        del self._periods[node, kind]
        if period.count > MAX_LINES:
            more, within_s = period.count - MAX_LINES, PERIOD_MS // 1000
            text = f"{more} more of this kind within {within_s} s: {kind}"
            self._add(Warned(node=node, text=text))
