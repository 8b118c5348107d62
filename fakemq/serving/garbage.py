"""Garbage collections that are short, in a process that is a cluster alone.

A full collection looks at every object that may be in a cycle: 0.15 s with 20,000 held pulls, in
which no peer is answered. Here what has survived a full collection is not looked at again, so each
has only the objects that came since the last one. What becomes garbage in cycles later, a few
objects of each connection, is freed when no peer is connected.

A cluster in the process of a test leaves the collector alone: it belongs to the test.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any, Final

AFTER_COLLECTIONS: Final = 5
"""A full collection follows this number of the middle generation, of 7,000 objects each."""
_NEVER: Final = 1 << 30


class ShortCollections:
    """Begins all full collections of this process, until `end`.

    ``call_soon`` calls a function in the loop's next turn. ``has_peers`` returns whether any peer
    would have to wait.
    """

    def __init__(
        self, call_soon: Callable[[Callable[[], None]], object], has_peers: Callable[[], bool]
    ) -> None:
        self._call_soon = call_soon
        self._has_peers = has_peers
        self._middle_ones = 0
        self._before = gc.get_threshold()

    def begin(self) -> None:
        """Begin; everything that exists now lives as long as the process does."""
        gc.collect()
        gc.freeze()
        gc.enable()
        if sys.version_info < (3, 14):  # from then on Python itself collects in parts
            gc.set_threshold(*self._before[:2], _NEVER)
            gc.callbacks.append(self._note)

    def end(self) -> None:
        """Leave the collector as it was."""
        if self._note in gc.callbacks:
            gc.callbacks.remove(self._note)
            gc.set_threshold(*self._before)
            gc.unfreeze()

    def collect(self) -> None:
        """Collect what came since the last time, or everything if no peer has to wait for it."""
        if not self._has_peers():
            gc.unfreeze()
        gc.collect()
        gc.freeze()

    def _note(self, phase: str, info: dict[str, Any]) -> None:
        """Count a collection that is over. The collector calls this, on any thread."""
        if phase != "stop":
            return
        if info["generation"] == 2:
            self._middle_ones = 0
        elif info["generation"] == 1:
            self._middle_ones += 1
            if self._middle_ones == AFTER_COLLECTIONS:
                self._call_soon(self.collect)
