"""Bars on a terminal while the logs of stores are checked at a start."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from fakemq.clock.progress import Progress

if TYPE_CHECKING:
    from fakemq.core.cluster import ClusterCore


def show_recoveries(core: ClusterCore, stream: TextIO) -> Callable[[], None]:
    """Show a bar for each broker while it checks its log, if that takes long.

    Return what removes the bars: a log may end before its files do.
    """
    bars = []
    for broker in core.brokers.values():
        disk = broker.store.disk
        if disk is not None:
            bars.append(_Bar(broker.name, stream))
            disk.on_read = bars[-1].read

    def end() -> None:
        for bar in bars:
            bar.end()

    return end


class _Bar:
    def __init__(self, node: str, stream: TextIO) -> None:
        self._node = node
        self._stream = stream
        self._progress: Progress | None = None

    def read(self, done_bytes: int, total_bytes: int) -> None:
        if self._progress is None:
            self._progress = Progress(
                total_bytes, self._stream, title=f"{self._node}: checks its log"
            )
        self._progress.reached(done_bytes)

    def end(self) -> None:
        if self._progress is not None:
            self._progress.clear()
            self._progress = None
