"""Where the store keeps its bytes: fixed-size files by path, in memory or in a directory.

The store never opens, maps or syncs anything itself. All times are given by the caller, because
retention and look-ups by time go by the cluster's clock, not by the machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol


class File(Protocol):
    """A file of fixed size, all zeros at first, of which unwritten parts cost nothing.

    ``position`` is where the next append goes: Java's wrotePosition. What lies before ``flushed``
    survives a crash. ``view`` is the whole file,
    for reading, or of one that grows at least what is written, until the next write; slices of it
    stay valid when the file grows or is deleted.
    """

    path: str
    size_bytes: int
    position: int
    mtime_ms: int
    view: memoryview

    @property
    def flushed(self) -> int:
        """How far `flush` has come: Java's flushedPosition."""

    def append(self, data: bytes, now_ms: int) -> None:
        """Write at ``position`` and move it; the caller sees to it that there is space."""

    def write_at(self, offset: int, data: bytes, now_ms: int) -> None:
        """Write anywhere, without moving ``position``."""

    def truncate(self, position: int) -> None:
        """Let ``position`` stand here, forwards or backwards; what lies behind it is undefined."""

    def data_end(self, start: int) -> int:
        """Behind the last byte from ``start`` on that is not zero; ``start`` if all are."""

    def flush(self) -> None:
        """Make everything written so far survive a crash."""


class Files(Protocol):
    """The files of one node. Paths are relative, with slashes: ``commitlog/0000…``."""

    used_bytes: int
    limit_bytes: int
    """Appended bytes up to this number always have room; beyond it `has_room` decides."""
    durable: bool
    """Whether they outlive the process."""
    broken: str
    """Why nothing more can be written, if so."""
    damaged: bool
    """Whether a fault has changed what is in them, since they were last brought into order."""

    @property
    def total_bytes(self) -> int:
        """How large the place is."""

    def open(self, path: str, size_bytes: int, now_ms: int, *, grows: bool = False) -> File:
        """The file at ``path``, made if it is not there.

        ``grows`` is for what there may be many of, mostly empty.
        """

    def path_of(self, path: str) -> str:
        """What to call a file to a user: where it is on the machine, if it is anywhere."""

    def delete(self, path: str) -> None:
        """Remove a file; nothing happens if there is none."""

    def list(self, folder: str) -> list[str]:
        """Paths of all files below ``folder``, sorted."""

    def opened(self) -> Iterable[File]:
        """Every file that was opened and not deleted since."""

    def dirty(self, folder: str) -> Sequence[File]:
        """The files below ``folder`` that have something to flush."""

    def clear(self) -> None:
        """Remove every file."""

    def has_room(self, size_bytes: int) -> bool:
        """Whether so many more bytes may be appended."""

    def used_ratio(self) -> float:
        """How full the place is, from 0 to 1."""

    def full_reason(self) -> str:
        """What to tell a client whose message found no room: a clause, without a full stop."""
