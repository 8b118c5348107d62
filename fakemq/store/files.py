"""What all files of a store have: files of fixed size by path, in memory or in a directory.

The store never opens, maps or syncs a file itself. The caller passes all times, because retention
and look-ups by time use the cluster's clock, not the machine's. Times are milliseconds of the wall
clock, offsets and positions are bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol


class File(ABC):
    """A file of fixed size. It is all zeros at first, and unwritten parts cost nothing.

    ``position`` is where the next append goes: Java's wrotePosition. The bytes before ``flushed``,
    Java's flushedPosition, survive a crash. ``view`` is for reading only. It begins with the file's
    first byte; all bytes behind its end are zeros that were never written. Of a sparse file it may
    show nothing: call `read`. Read ``view`` again after a write; slices of an old one stay valid
    when the file grows or is deleted.
    """

    __slots__ = ("flushed", "mtime_ms", "path", "position", "size_bytes", "view")

    path: str
    size_bytes: int
    position: int
    mtime_ms: int
    flushed: int
    view: memoryview

    @abstractmethod
    def read(self, start: int, size_bytes: int) -> memoryview | bytes:
        """Return this number of bytes, which are in the file; zeros where nothing was written."""

    @abstractmethod
    def data(self) -> Iterator[tuple[int, memoryview]]:
        """Yield position and bytes of the parts before ``position`` that may be no zeros."""

    @abstractmethod
    def append(self, data: bytes, now_ms: int) -> None:
        """Write at ``position`` and move it; the caller has checked that the file has room."""

    @abstractmethod
    def write_at(self, offset: int, data: bytes, now_ms: int) -> None:
        """Write anywhere, without moving ``position``."""

    @abstractmethod
    def spoil(self, offset: int, data: bytes) -> None:
        """Write over bytes as a fault: flushes and crashes do not know of it."""

    @abstractmethod
    def truncate(self, position: int) -> None:
        """Move ``position``, forwards or backwards; the bytes behind it are undefined then."""

    @abstractmethod
    def data_end(self, start: int) -> int:
        """Return the position behind the last non-zero byte; ``start`` if there is none."""

    @abstractmethod
    def flush(self) -> None:
        """Write all bytes to the disk, so that they survive a crash."""


class LateReader(Protocol):
    """What reads the bytes of files later than at its moment."""

    def before_change(self, file: Any, start: int, end: int | None) -> None:
        """Read these bytes of a `File` now, which are about to change; None for cut or deleted."""


class Files(ABC):
    """The files of one node. Paths are relative, with slashes: ``commitlog/0000…``."""

    captures: list[LateReader]
    """What `changing` calls before a byte in front of the ``position`` of a file changes."""

    used_bytes: int
    """The appended bytes of all files together."""
    limit_bytes: int
    """Appended bytes up to this number always have room; beyond it `has_room` decides."""
    durable: bool
    """Whether the files remain when the process ends."""
    broken: str
    """Why nothing more can be written; empty as long as writes succeed."""
    damaged: bool
    """Whether a fault has changed their bytes since the last recovery."""

    @property
    @abstractmethod
    def total_bytes(self) -> int:
        """The size of the disk, or the limit of memory."""

    @abstractmethod
    def open(
        self,
        path: str,
        size_bytes: int,
        now_ms: int,
        *,
        grows: bool = False,
        sparse: bool = False,
    ) -> File:
        """Return the file at ``path``; create it if it does not exist.

        ``grows`` is for files of which there are many, mostly empty: it saves memory. ``sparse`` is
        for files that are not written from the beginning on.
        """

    @abstractmethod
    def path_of(self, path: str) -> str:
        """Return the name of a file for users: its path on the machine, if it has one."""

    def changing(self, file: File, start: int = 0, size_bytes: int | None = None) -> None:
        """Let captures read a file, or a range of it, before these bytes change."""
        end = None if size_bytes is None else start + size_bytes
        for capture in list(self.captures):
            capture.before_change(file, start, end)

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove a file; do nothing if it does not exist."""

    @abstractmethod
    def list(self, folder: str) -> list[str]:
        """Return the paths of all files below ``folder``, sorted."""

    @abstractmethod
    def opened(self) -> Iterable[File]:
        """Return every file that was opened and not deleted."""

    @abstractmethod
    def dirty(self, *folders: str) -> Sequence[File]:
        """Return the files below these folders that have unflushed bytes."""

    @abstractmethod
    def is_dirty(self, file: object) -> bool:
        """Return whether a file has unflushed bytes, and was not deleted."""

    @abstractmethod
    def clear(self) -> None:
        """Remove every file."""

    @abstractmethod
    def has_room(self, size_bytes: int) -> bool:
        """Return whether ``size_bytes`` more may be appended; call it once for each append."""

    @abstractmethod
    def used_ratio(self) -> float:
        """Return how full the disk of the log or the memory is, from 0 to 1.

        Of several disks this is the least: as long as one has room, new files go there.
        """

    @abstractmethod
    def used_ratios(self) -> dict[str, float]:
        """Return how full the disk of each folder of the log is; empty in memory."""

    @abstractmethod
    def avoid(self, folders: frozenset[str]) -> None:
        """Make new files of the log in other folders than these, named as by `used_ratios`."""

    @abstractmethod
    def full_reason(self) -> str:
        """Return why there is no room, as a clause for clients, without a full stop."""
