"""A file in a directory, mapped into memory, that knows which of its bytes a crash could lose.

Disk blocks are allocated before the mapping is written to. A full disk then raises an error;
otherwise the write would end the process with SIGBUS. An append through the mapping takes half the
time of a write call.
Source: store/MappedFile.java (4.9.7)
"""

from __future__ import annotations

import errno
import mmap
import os
from contextlib import suppress
from typing import Protocol

from fakemq.errors import StoreError

PAGE_BYTES = 4096
_MOST_RESERVED_BYTES = 1 << 20


class Directory(Protocol):
    """What a file needs of the directory that it lies in."""

    unflushed: dict[DirectoryFile, None]
    """The files with writes that were not flushed, oldest first. A file adds and removes itself."""
    used_bytes: int
    """The bytes of all files together; a file adds what it appends."""

    def path_of(self, path: str) -> str:
        """Return the path in the file system."""


class DirectoryFile:
    """A `File` of a directory.

    To undo unflushed writes, as a power failure does, the file must know the bytes that pages had
    before. There are two cases: 1. Appended bytes, behind ``flushed``: the disk has zeros there.
    2. Pages changed by `write_at`: a copy of each page is kept until the next flush.
    """

    __slots__ = (
        "_before",
        "_directory",
        "_ever_flushed",
        "_map",
        "_own_pages",
        "_reserved",
        "flush_is_lost",
        "flushed",
        "mtime_ms",
        "path",
        "position",
        "size_bytes",
        "view",
    )

    def __init__(
        self, directory: Directory, path: str, pages: mmap.mmap, mtime_ms: int, made: bool
    ) -> None:
        self._directory = directory
        self._map = pages
        self._before: dict[int, bytes] = {}  # page number -> its bytes at the last flush
        self._ever_flushed = not made
        self._own_pages: set[int] = set()  # pages for which `write_at` has allocated blocks
        self._reserved = 0  # position up to which appends have blocks on the disk
        self.flush_is_lost = False
        """Whether a fault lost a flush, and no later flush succeeded."""
        self.path = path
        self.size_bytes = len(pages)
        self.position = self.flushed = 0 if made else len(pages)
        self.mtime_ms = mtime_ms
        self.view = memoryview(pages)

    # -- writing ------------------------------------------------------------------------------

    def append(self, data: bytes, now_ms: int) -> None:
        """As `File.append`; raise StoreError if the disk is full."""
        start = self.position
        end = start + len(data)
        if end > self._reserved:
            self._reserve(end)
        self.view[start:end] = data
        self.position = end
        self.mtime_ms = now_ms
        directory = self._directory
        if start == self.flushed:
            directory.unflushed[self] = None
        directory.used_bytes += end - start
        if end == self.size_bytes:
            # Look-ups by time use the time of the file, also after a kill. The system itself would
            # set the time at which the last page was first written to.
            self.set_time()

    def write_at(self, offset: int, data: bytes, now_ms: int) -> None:
        end = offset + len(data)
        for page in range(offset // PAGE_BYTES, -(-end // PAGE_BYTES)):
            start = page * PAGE_BYTES
            if page not in self._own_pages:
                self._allocate(start, min(start + PAGE_BYTES, self.size_bytes))
                self._own_pages.add(page)
            # A file that was never flushed has only zeros on the disk.
            if self._ever_flushed and page not in self._before:
                self._before[page] = bytes(self.view[start : start + PAGE_BYTES])
        self.view[offset:end] = data
        self.mtime_ms = now_ms
        self._directory.unflushed[self] = None

    def truncate(self, position: int) -> None:
        """As `File.truncate`; the bytes behind an earlier position become zeros on the disk too."""
        if position < self.position and self.data_end(position) > position:
            path = self._directory.path_of(self.path)
            try:
                os.truncate(path, position)
                os.truncate(path, self.size_bytes)
            except OSError as error:
                raise store_error(path, f"cannot be cut at {position}", error) from None
            self._own_pages.clear()
            self._before = {page: _cut(page, was, position) for page, was in self._before.items()}
        self._reserved = min(self._reserved, position)
        if position > self.position:
            self._directory.unflushed[self] = None
        self.position = position
        self.flushed = min(self.flushed, position)

    def _reserve(self, end: int) -> None:
        """Allocate blocks up to ``end`` at least: a page, then twice as much each time."""
        start = max(self._reserved, self.position)
        step = min(max(PAGE_BYTES, self._reserved), _MOST_RESERVED_BYTES)
        until = min(max(end, start + step), self.size_bytes)
        self._allocate(start, until)
        self._reserved = until

    def _allocate(self, start: int, end: int) -> None:
        path = self._directory.path_of(self.path)
        try:
            with descriptor(path, os.O_RDWR) as number:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(number, start, end - start)
        except OSError as error:
            raise store_error(path, f"cannot be written from {start} on", error) from None

    def data_end(self, start: int) -> int:
        """Return the position behind the last non-zero byte; ``start`` if there is none."""
        end = self.size_bytes
        step = _MOST_RESERVED_BYTES
        with descriptor(self._directory.path_of(self.path), os.O_RDONLY) as number:
            extents = _extents(number, start, end)
        for first, last in reversed(extents):
            while last > first:
                begin = max(first, last - step)
                data = bytes(self.view[begin:last]).rstrip(b"\0")
                if data:
                    return begin + len(data)
                last = begin
        return start

    # -- flushing -----------------------------------------------------------------------------

    def flush(self) -> None:
        """Write all bytes and the time to the disk; raise StoreError if the disk refuses."""
        path = self._directory.path_of(self.path)
        try:
            self._map.flush()
        except OSError as error:
            raise store_error(path, "cannot be flushed", error) from None
        self.flushed = self.position
        self._ever_flushed = True
        self.flush_is_lost = False
        self._before.clear()
        self._directory.unflushed.pop(self, None)
        self.set_time()

    def set_time(self) -> None:
        """Set the file's time on the disk by the cluster's clock."""
        at_ns = self.mtime_ms * 1_000_000
        with suppress(OSError):  # another process deleted it: its time is not needed
            os.utime(self._directory.path_of(self.path), ns=(at_ns, at_ns))

    def unflushed_pages(self) -> list[int]:
        """Return the numbers of the pages that a crash may lose."""
        appended = range(self.flushed // PAGE_BYTES, -(-self.position // PAGE_BYTES))
        return sorted(self._before.keys() | (appended if self.position > self.flushed else ()))

    def lose(self, page: int, kept_bytes: int = 0) -> None:
        """Restore a page as of the last flush, but keep its first ``kept_bytes`` as they are."""
        start = page * PAGE_BYTES
        end = min(start + PAGE_BYTES, self.size_bytes)
        if self._ever_flushed:
            image = bytearray(self._before.get(page) or self.view[start:end])
            low, high = max(start, self.flushed), min(end, self.position)
            image[low - start : high - start] = bytes(max(0, high - low))
        else:
            image = bytearray(end - start)
        self.view[start + kept_bytes : end] = image[kept_bytes:]

    def __repr__(self) -> str:
        return f"<file {self.path}, {self.position} of {self.size_bytes} bytes>"


def _cut(page: int, data: bytes, position: int) -> bytes:
    """Return a page's bytes, with zeros from the file's ``position`` on."""
    return data[: max(0, position - page * PAGE_BYTES)].ljust(len(data), b"\0")


class descriptor:  # noqa: N801 - used like a function
    """The descriptor of a file, open during a ``with`` block."""

    def __init__(self, path: str, flags: int) -> None:
        self._number = os.open(path, flags | os.O_CLOEXEC, 0o644)

    def __enter__(self) -> int:
        return self._number

    def __exit__(self, *_: object) -> None:
        os.close(self._number)


def store_error(path: str, what: str, error: Exception) -> StoreError:
    """Return an error that names the file, or the folder that failed, and the system's reason."""
    why = str(error)
    if isinstance(error, OSError) and error.strerror:
        path, why = error.filename or path, error.strerror
        if error.errno == errno.EMFILE:
            why += "; the process needs a higher limit (ulimit -n)"
    return StoreError(f"{path}: {what}: {why}")


def _extents(number: int, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges from ``start`` on that may have non-zero bytes: those without holes."""
    if not hasattr(os, "SEEK_DATA"):
        return [(start, end)]
    found = []
    at = start
    while at < end:
        try:
            first = os.lseek(number, at, os.SEEK_DATA)
        except OSError:  # ENXIO: nothing but a hole
            break
        at = os.lseek(number, first, os.SEEK_HOLE)
        found.append((max(first, start), min(at, end)))
    return found
