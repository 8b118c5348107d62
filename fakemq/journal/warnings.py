"""What peers do wrong: a line for each, but not for each of a thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.events.core import Warned

if TYPE_CHECKING:
    from fakemq.clock.clock import Clock
    from fakemq.journal.journal import Journal

LINES = 10
"""So many of one kind are told of at one node …"""
PERIOD_MS = 60_000
"""… within this time; the others are counted."""


class _Kind:
    """One kind of offence at one node, since the first that was told of."""

    __slots__ = ("count", "since_ms")

    def __init__(self, since_ms: int) -> None:
        self.since_ms = since_ms
        self.count = 0


class Offences:
    """Warnings of what peers do, by node and kind.

    Time is that of the peers: real time, whatever the cluster's clock does.
    """

    def __init__(self, clock: Clock, journal: Journal) -> None:
        self._clock = clock
        self._journal = journal
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def tell(self, node: str, kind: str, text: str) -> None:
        """Warn of an offence; past `LINES` a minute it is only counted, and the count told later.

        ``kind`` is one of few words: it is kept.
        """
        now_ms = self._clock.elapsed_ms(outside=True)
        found = self._kinds.get((node, kind))
        if found is None or now_ms - found.since_ms >= PERIOD_MS:
            self._end(node, kind)
            found = self._kinds[node, kind] = _Kind(now_ms)
        found.count += 1
        if found.count <= LINES:
            self._journal.add(Warned(node=node, text=text))
        elif found.count == LINES + 1:
            # Without it nobody would learn of the last ones of a flood.
            self._clock.call_later(
                found.since_ms + PERIOD_MS - now_ms,
                lambda: self._end(node, kind, found),
                kind="offences",
                owner=node,
                outside=True,
            )

    def _end(self, node: str, kind: str, ended: _Kind | None = None) -> None:
        found = self._kinds.get((node, kind))
        if found is None or (ended is not None and ended is not found):
            return
        del self._kinds[node, kind]
        if found.count > LINES:
            more, within_s = found.count - LINES, PERIOD_MS // 1000
            text = f"{more} more of this kind within {within_s} s: {kind}"
            self._journal.add(Warned(node=node, text=text))
