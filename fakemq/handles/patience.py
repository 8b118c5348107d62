"""How long each step of `run_until` leaves peers outside the process, which live in real time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore

PATIENCE_MS = 50
"""Real ms after a step in which peers may react."""
LONG_PATIENCE_MS = 500
"""The same once half of the time is over."""
SPARE_MS = 5_000
"""How much more than `PATIENCE_MS` all steps of one wait may take together."""


class PeerPatience:
    """The real time for peers outside in one wait, which moves time by ``at_most_ms``.

    On a busy machine a peer may need more than 50 ms to begin what is due, and each step moves time
    by up to half a minute: a few such steps, and the time is over before the peer has begun. So
    the steps of the second half are longer, up to `SPARE_MS` in all.
    """

    def __init__(self, core: ClusterCore, at_most_ms: int) -> None:
        self._core = core
        self._half_ms = at_most_ms // 2
        self._spare_ms = SPARE_MS

    def next_ms(self, left_ms: int) -> int:
        """Return how long peers may react to the last step, after which ``left_ms`` are left.

        It is 0 if there are none.
        """
        if not self._core.network.links.reach_outside():
            return 0
        # A clock that runs moves on during the wait, which must not overshoot.
        if left_ms > self._half_ms or not self._core.clock.frozen:
            return PATIENCE_MS
        more_ms = min(LONG_PATIENCE_MS - PATIENCE_MS, self._spare_ms)
        self._spare_ms -= more_ms
        return PATIENCE_MS + more_ms
