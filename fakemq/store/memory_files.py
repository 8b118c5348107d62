"""Files in memory. They take the memory of the written bytes, with a common limit."""

from __future__ import annotations

import mmap
import os
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from fakemq.errors import StoreError
from fakemq.store.files import File, Files

if TYPE_CHECKING:
    from fakemq.clock.node_clock import NodeClock

GIB: Final = 1 << 30
_UNITS: Final = (("GiB", GIB), ("MiB", 1 << 20), ("KiB", 1 << 10))
_FIRST_BYTES: Final = 160
_MAPPED_FROM_BYTES: Final = 1 << 16
"""Smaller files are byte arrays: a mapping takes at least a page, and Linux allows a process
65,530 mappings (max_map_count)."""
# MAP_NORESERVE: reserve addresses, not memory. Python has the name only from 3.13 on.
NO_RESERVE: Final = 0x4000 if sys.platform == "linux" else 0


class MemoryFile(File):
    """A `File` whose memory pages the system allocates when they are first written to.

    A file that ``grows`` has a few bytes at first and doubles whenever they are full. When it is
    large, it is mapped like the others.
    """

    __slots__ = ("_files", "used_bytes")

    def __init__(
        self, files: MemoryFiles, path: str, size_bytes: int, now_ms: int, grows: bool
    ) -> None:
        self._files = files
        self.path = path
        self.size_bytes = size_bytes
        self.position = self.flushed = 0
        self.used_bytes = 0
        self.mtime_ms = now_ms
        self.view = memoryview(b"")
        self._grow_to(min(_FIRST_BYTES, size_bytes) if grows else size_bytes)

    def read(self, start: int, size_bytes: int) -> memoryview | bytes:
        """As `File.read`."""
        end = start + size_bytes
        found = self.view[start:end]
        return found if end <= len(self.view) else bytes(found).ljust(size_bytes, b"\0")

    def data(self) -> Iterator[tuple[int, memoryview]]:
        """As `File.data`."""
        yield 0, self.view[: self.position]

    def append(self, data: bytes, now_ms: int) -> None:
        start = self.position
        size_bytes = len(data)
        self.position = self.flushed = end = start + size_bytes
        if end > len(self.view):
            self._grow_to(end)
        self.view[start:end] = data
        self.mtime_ms = now_ms
        self.used_bytes += size_bytes
        self._files.used_bytes += size_bytes

    def write_at(self, offset: int, data: bytes, now_ms: int) -> None:
        """As `File.write_at`; these headers and hash slots are not counted as used bytes."""
        if self._files.captures:
            self._files.changing(self, offset, len(data))
        end = offset + len(data)
        if end > len(self.view):
            self._grow_to(end)
        self.view[offset:end] = data
        self.mtime_ms = now_ms

    def spoil(self, offset: int, data: bytes) -> None:
        """As `File.spoil`."""
        self._files.changing(self, offset, len(data))
        self.view[offset : offset + len(data)] = data

    def truncate(self, position: int) -> None:
        self._files.changing(self)
        if position > len(self.view):
            self._grow_to(position)
        self.position = self.flushed = position

    def data_end(self, start: int) -> int:
        return start + len(bytes(self.view[start : self.position]).rstrip(b"\0"))

    def flush(self) -> None:
        """Do nothing: memory ends with the process."""

    def _grow_to(self, size_bytes: int) -> None:
        """Grow to at least ``size_bytes``; slices of the old view keep the old bytes."""
        old = self.view
        size_bytes = min(max(size_bytes, 2 * len(old)), self.size_bytes)
        mapped = size_bytes >= _MAPPED_FROM_BYTES
        self.view = memoryview(
            _reserve(self.path, self.size_bytes) if mapped else _allocate(self.path, size_bytes)
        )
        self.view[: len(old)] = old


class MemoryFiles(Files):
    """The files of one node, in memory; together they hold ``limit_bytes`` of appended bytes.

    An index file's header and hash slots are not counted; they cost at most 20 MB.
    """

    durable = False
    broken = ""

    def __init__(self, clock: NodeClock, limit_bytes: int = GIB) -> None:
        self._clock = clock
        self._files: dict[str, MemoryFile] = {}
        self._sorted: list[str] | None = None
        """Their paths; None after a change."""
        self.limit_bytes = limit_bytes
        self.captures = []
        self.used_bytes = 0
        self.damaged = False

    def open(
        self,
        path: str,
        size_bytes: int,
        now_ms: int | None = None,
        *,
        grows: bool = False,
        sparse: bool = False,
    ) -> MemoryFile:
        file = self._files.get(path)
        if file is None:
            at_ms = self._clock.now_ms() if now_ms is None else now_ms
            file = self._files[path] = MemoryFile(self, path, size_bytes, at_ms, grows)
            self._sorted = None
        return file

    def path_of(self, path: str) -> str:
        return f"memory/{path}"

    def delete(self, path: str) -> None:
        file = self._files.pop(path, None)
        if file is not None:  # captures read it later: its bytes stay as they are
            self.used_bytes -= file.used_bytes
            self._sorted = None

    def list(self, folder: str) -> list[str]:
        if self._sorted is None:
            self._sorted = sorted(self._files)
        prefix = folder.rstrip("/") + "/"  # the character behind "/" is "0"
        begin = bisect_left(self._sorted, prefix)
        return self._sorted[begin : bisect_left(self._sorted, prefix[:-1] + "0", begin)]

    def opened(self) -> Iterable[MemoryFile]:
        return self._files.values()

    def dirty(self, *folders: str) -> Sequence[MemoryFile]:
        return ()

    def is_dirty(self, file: object) -> bool:
        return False

    def clear(self) -> None:
        """As `Files.clear`; the memory is given back at once, whatever still refers to a file."""
        for file in self._files.values():
            self.changing(file)
            file.view = memoryview(b"")
        self._files.clear()
        self._sorted = None
        self.used_bytes = 0
        self.damaged = False

    @property
    def total_bytes(self) -> int:
        return self.limit_bytes

    def has_room(self, size_bytes: int) -> bool:
        return self.used_bytes + size_bytes <= self.limit_bytes

    def used_ratio(self) -> float:
        return self.used_bytes / self.limit_bytes if self.limit_bytes else 1.0

    def used_ratios(self) -> dict[str, float]:
        return {}

    def avoid(self, folders: frozenset[str]) -> None:
        """Do nothing: memory has no folders."""

    def full_reason(self) -> str:
        limit = size_text(self.limit_bytes)
        return f"the memory limit of fakemq, --memory-limit {limit}, is reached"

    def __repr__(self) -> str:
        used, limit = size_text(self.used_bytes), size_text(self.limit_bytes)
        return f"<{len(self._files)} files in memory, {used} of {limit}>"


def size_text(size_bytes: int) -> str:
    """Return a size as it is written on the command line: ``1GiB``, ``1536KiB``, ``1000``."""
    for name, unit in _UNITS:
        if size_bytes and size_bytes % unit == 0:
            return f"{size_bytes // unit}{name}"
    return str(size_bytes)


def machine_ram_bytes() -> int:
    """Return how much RAM the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _refused(path: str, size_bytes: int, why: str) -> StoreError:
    found = StoreError(
        f"memory/{path}: the system refuses {size_text(size_bytes)} of addresses"
        f" ({why}); a higher limit (ulimit -v) or smaller files"
        " (mappedFileSizeCommitLog, maxIndexNum) would do"
    )
    found.passing = True
    return found


def _allocate(path: str, size_bytes: int) -> bytearray:
    try:
        return bytearray(size_bytes)
    except MemoryError:
        raise _refused(path, size_bytes, "no memory") from None


def _reserve(path: str, size_bytes: int) -> mmap.mmap:
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NO_RESERVE
    try:
        pages = mmap.mmap(-1, size_bytes, flags=flags)
    except OSError as error:
        raise _refused(path, size_bytes, str(error.strerror)) from None
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        # A queue of one entry costs 4 KiB, not 2 MiB.
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return pages
