"""A file in a directory, mapped into memory, that knows what a crash could take from it.

Blocks are asked for before the mapping is written to: a full disk is an error then, where it would
otherwise be the end of the process. Appending so takes half the time that a write call would.
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

    What was written since the last flush is known by its pages, and what they held before: bytes
    behind ``flushed`` were zeros, other pages are kept as they were.
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
        self._before: dict[int, bytes] = {}
        self._ever_flushed = not made
        self._own_pages: set[int] = set()
        self._reserved = 0
        self.flush_is_lost = False
        """Whether a fault took a flush, and none was made since."""
        self.path = path
        self.size_bytes = len(pages)
        self.position = self.flushed = 0 if made else len(pages)
        self.mtime_ms = mtime_ms
        self.view = memoryview(pages)

    # -- writing ------------------------------------------------------------------------------

    def append(self, data: bytes, now_ms: int) -> None:
        """As `File.append`; StoreError if the disk has no room for it."""
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
            # Look-ups by time go by it, also those of who finds the file after a kill: by itself
            # it has the time of when its last page was first written to.
            self.set_time()

    def write_at(self, offset: int, data: bytes, now_ms: int) -> None:
        end = offset + len(data)
        for page in range(offset // PAGE_BYTES, -(-end // PAGE_BYTES)):
            start = page * PAGE_BYTES
            if page not in self._own_pages:
                self._allocate(start, min(start + PAGE_BYTES, self.size_bytes))
                self._own_pages.add(page)
            # What never was on the disk was nothing but zeros there.
            if self._ever_flushed and page not in self._before:
                self._before[page] = bytes(self.view[start : start + PAGE_BYTES])
        self.view[offset:end] = data
        self.mtime_ms = now_ms
        self._directory.unflushed[self] = None

    def truncate(self, position: int) -> None:
        """As `File.truncate`; going back, what lies behind becomes zeros, for good."""
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
        """Have blocks on the disk up to ``end`` at least: a page, then twice as much each time."""
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
        """Behind the last byte from ``start`` on that is not zero; ``start`` if all are."""
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
        """Make everything written so far survive a crash, its time too; StoreError if it cannot."""
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
        """Give the file on the disk its time by the cluster's clock."""
        at_ns = self.mtime_ms * 1_000_000
        with suppress(OSError):  # deleted behind our back: nobody will look
            os.utime(self._directory.path_of(self.path), ns=(at_ns, at_ns))

    def unflushed_pages(self) -> list[int]:
        """The numbers of the pages that a crash may take."""
        appended = range(self.flushed // PAGE_BYTES, -(-self.position // PAGE_BYTES))
        return sorted(self._before.keys() | (appended if self.position > self.flushed else ()))

    def lose(self, page: int, kept_bytes: int = 0) -> None:
        """Have a page as it was at the last flush, but for its first ``kept_bytes``."""
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
    """A page of a file that ends at ``position``."""
    return data[: max(0, position - page * PAGE_BYTES)].ljust(len(data), b"\0")


class descriptor:  # noqa: N801 - reads as the call it stands for
    """A file's descriptor for the time of a ``with``."""

    def __init__(self, path: str, flags: int) -> None:
        self._number = os.open(path, flags | os.O_CLOEXEC, 0o644)

    def __enter__(self) -> int:
        return self._number

    def __exit__(self, *_: object) -> None:
        os.close(self._number)


def store_error(path: str, what: str, error: Exception) -> StoreError:
    """The error that names a file, or the folder that is in the way, and what the system says."""
    why = str(error)
    if isinstance(error, OSError) and error.strerror:
        path, why = error.filename or path, error.strerror
        if error.errno == errno.EMFILE:
            why += "; the process needs a higher limit (ulimit -n)"
    return StoreError(f"{path}: {what}: {why}")


def _extents(number: int, start: int, end: int) -> list[tuple[int, int]]:
    """Where from ``start`` on there may be anything but zeros."""
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
