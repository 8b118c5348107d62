"""Up to which store times everything is on the disk: the file ``checkpoint``.

Source: store/StoreCheckpoint.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fakemq.protocol.java import LONG_MAX
from fakemq.protocol.layout.codecs import CHECKPOINT

if TYPE_CHECKING:
    from fakemq.store.files import File

PATH = "checkpoint"
FILE_BYTES = 4096
_SAFETY_MS = 3_000


class StoreCheckpoint:
    """Store times, in milliseconds, of the last record that is on the disk.

    ``physic_ms`` is that of the log, ``logics_ms`` of the queues, ``index_ms`` of the index.
    `Flush` sets them; `StoreCheckpoint.flush` writes them.
    """

    def __init__(self, file: File) -> None:
        self._file = file
        self.physic_ms: int
        self.logics_ms: int
        self.index_ms: int
        self.physic_ms, self.logics_ms, self.index_ms = CHECKPOINT.unpack(
            file.read(0, CHECKPOINT.size)
        )
        self._written = self._packed()

    @property
    def min_ms(self) -> int:
        """Every record stored before this time is in the log and the queues."""
        return max(0, min(self.physic_ms, self.logics_ms) - _SAFETY_MS)

    @property
    def min_with_index_ms(self) -> int:
        """Every record stored before this time is also in the index."""
        return min(self.min_ms, self.index_ms)

    @property
    def newest_ms(self) -> int:
        """The latest of the times."""
        return max(self.physic_ms, self.logics_ms, self.index_ms)

    @property
    def counts_to(self) -> int:
        """Up to which offset a recovery after a crash brings records to their queues."""
        return LONG_MAX

    def go_back(self, stored_ms: int, now_ms: int) -> None:
        """Move all times back to ``stored_ms`` at most, because the clock went back.

        The same store times come a second time then, and the new records are not on the disk yet.
        Differs: Java moves back only the log's time, and only in memory.
        """
        self.physic_ms = min(self.physic_ms, stored_ms)
        self.logics_ms = min(self.logics_ms, stored_ms)
        self.index_ms = min(self.index_ms, stored_ms)
        self.flush(now_ms)

    def flush(self, now_ms: int) -> None:
        """Write the times to the file and flush it; StoreError if the disk refuses."""
        times = self._packed()
        self._file.write_at(0, times, now_ms)
        self._file.flush()
        self._written = times

    @property
    def written(self) -> bool:
        """Whether the file has the present times."""
        return self._written == self._packed()

    def _packed(self) -> bytes:
        return CHECKPOINT.pack(self.physic_ms, self.logics_ms, self.index_ms)

    def clear(self, now_ms: int) -> None:
        """Begin again, as with an empty store."""
        self.physic_ms = self.logics_ms = self.index_ms = 0
        self.flush(now_ms)

    def __repr__(self) -> str:
        return f"<checkpoint {self.physic_ms} {self.logics_ms} {self.index_ms}>"
