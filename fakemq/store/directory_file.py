"""A file in a directory that knows which of its bytes a crash could lose.

It is written by write calls and read through a mapping. A write through the mapping would take half
the time, but on a full disk it ends the process with SIGBUS, even where blocks were reserved:
Linux may then need blocks for several pages around. Reading needs no blocks, except of a hole on
tmpfs, so what was never written is not read through the mapping either.
Source: store/MappedFile.java (4.9.7)
"""

from __future__ import annotations

import errno
import mmap
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from fakemq.errors import StoreError
from fakemq.files.regular import open_regular
from fakemq.store.files import File, LateReader

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE_BYTES: Final = 4096
"""A page as the store counts it, whatever the machine's pages are."""
_STEP_BYTES: Final = 1 << 20
_ZERO_STEP: Final = bytes(_STEP_BYTES)
_ZEROS: Final = memoryview(_ZERO_STEP)
MOST_END_ZEROS: Final = 20
"""A record, or an entry of a queue, ends with fewer zeros than this."""


class Directory(Protocol):
    """What a file needs of the directory that it lies in."""

    unflushed: dict[DirectoryFile, None]
    """The files with writes that were not flushed, oldest first. A file adds and removes itself."""
    used_bytes: int
    """The bytes of all files together; a file adds what it appends."""

    captures: list[LateReader]
    """As `Files.captures`."""

    def changing(self, file: File, start: int = 0, size_bytes: int | None = None) -> None:
        """As `Files.changing`."""

    def descriptor_of(self, file: DirectoryFile) -> int:
        """Open a file and return its descriptor; ``release`` is called when that is needed back."""

    def path_of(self, path: str) -> str:
        """Return the path in the file system."""


_NONE: Final = -1
_PASSING: Final = (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_HAS_DATASYNC: Final = hasattr(os, "fdatasync")  # macOS has none


class DirectoryFile(File):
    """A `File` of a directory.

    To undo unflushed writes, as a power failure does, the file must know the bytes that pages had
    before. There are two cases: 1. Appended bytes, behind ``flushed``: the disk has zeros there.
    2. Pages changed by `write_at`: a copy of each page is kept until the next flush.
    """

    __slots__ = (
        "_before",
        "_bytes",
        "_directory",
        "_ever_flushed",
        "_flush_failed",
        "_identity",
        "_number",
        "flush_is_lost",
    )

    def __init__(
        self,
        directory: Directory,
        path: str,
        pages: mmap.mmap,
        identity: tuple[int, int],
        mtime_ms: int,
        made: bool,
    ) -> None:
        self._directory = directory
        self._identity = identity  # the numbers of its device and of the file there
        self._bytes = memoryview(pages)  # the whole file; only ranges that were written are read
        self._number = _NONE  # its descriptor, as long as the directory leaves it open
        self._before: dict[int, bytes] = {}  # page number -> its bytes at the last flush
        self._ever_flushed = not made
        self._flush_failed = False
        self.flush_is_lost = False
        """Whether a fault lost a flush, and no later flush succeeded."""
        self.path = path
        self.size_bytes = len(pages)
        self.position = self.flushed = 0 if made else len(pages)
        self.mtime_ms = mtime_ms
        self.view = self._bytes[:0]

    def look(self, number: int) -> None:
        """Let `view` show the bytes of an existing file, whose descriptor is ``number``.

        Holes before its last byte become zeros on the disk, so that no reader meets one. Raise
        OSError if the disk is full.
        """
        at = 0
        for first, last in extents(number, 0, self.size_bytes):
            _write_zeros(number, at, first)
            at = last
        end = self._page_end(at)
        if end < self.size_bytes and any(self._bytes[max(0, end - MOST_END_ZEROS) : end]):
            # A copy may have made a hole of the zeros with which a record or an entry ends.
            at, end = end, self._page_end(end + 1)
            _write_zeros(number, at, end)
        self.view = self._bytes[:end]

    # -- reading ------------------------------------------------------------------------------

    def read(self, start: int, size_bytes: int) -> memoryview | bytes:
        """As `File.read`; raise StoreError if the disk refuses."""
        end = start + size_bytes
        if end <= len(self.view):
            return self.view[start:end]
        try:
            return os.pread(self._descriptor(), size_bytes, start)
        except OSError as error:
            raise self._error(f"cannot be read from {start} on", error) from None

    def data(self) -> Iterator[tuple[int, memoryview]]:
        """As `File.data`."""
        for first, last in self._extents(0):
            if first < self.position:
                yield first, self._bytes[first : min(last, self.position)]

    def data_end(self, start: int) -> int:
        """Return the position behind the last non-zero byte; ``start`` if there is none."""
        for first, last in reversed(self._extents(start)):
            while last > first:
                begin = max(first, last - _STEP_BYTES)
                data = self._read(begin, last - begin)
                # A copy of a file may have no holes. To compare is faster than `rstrip`.
                if data != _ZERO_STEP and (data := data.rstrip(b"\0")):
                    return begin + len(data)
                last = begin
        return start

    def _read(self, start: int, count: int) -> bytes:
        try:
            return os.pread(self._descriptor(), count, start)
        except OSError as error:
            raise self._error("cannot be read", error) from None

    def _extents(self, start: int) -> list[tuple[int, int]]:
        try:
            return extents(self._descriptor(), start, self.size_bytes)
        except OSError as error:
            raise self._error("cannot be read", error) from None

    # -- writing ------------------------------------------------------------------------------

    def append(self, data: bytes, now_ms: int) -> None:
        """As `File.append`; raise StoreError if the disk is full."""
        start = self.position
        end = start + len(data)
        try:  # most appends end here without another call
            count = os.pwrite(self._number, data, start)
        except OSError:
            count = 0
        if count != end - start:
            try:
                self._write(data, start)
            except StoreError:
                self._clear(start, end)
                raise
        self.position = end
        self.mtime_ms = now_ms
        if end > len(self.view) >= start:
            self.view = self._bytes[: self._page_end(end)]
        directory = self._directory
        if start == self.flushed:
            directory.unflushed[self] = None
        directory.used_bytes += end - start
        if end == self.size_bytes:
            # Look-ups by time use the time of the file, also after a kill. The system itself would
            # set the time of the last write.
            self.set_time()

    def write_at(self, offset: int, data: bytes, now_ms: int) -> None:
        """As `File.write_at`; raise StoreError if the disk is full."""
        if self._directory.captures:
            self._directory.changing(self, offset, len(data))
        end = offset + len(data)
        # A file that was never flushed has only zeros on the disk.
        if self._ever_flushed:
            for page in range(offset // PAGE_BYTES, -(-end // PAGE_BYTES)):
                if page not in self._before:
                    self._before[page] = self._page(page)
        self._write(data, offset)
        self.mtime_ms = now_ms
        self._directory.unflushed[self] = None

    def spoil(self, offset: int, data: bytes) -> None:
        """As `File.spoil`."""
        self._directory.changing(self, offset, len(data))
        self._write(data, offset)

    def truncate(self, position: int) -> None:
        """As `File.truncate`; the bytes behind an earlier position become zeros on the disk too.

        The file keeps its size all the time: it would keep a wrong one if the process were killed
        between two changes of it. The zeros are written from ``position`` on, so that after a kill
        the next start finds the same end, and cuts the rest.
        """
        self._directory.changing(self)
        if position < self.position and (end := self.data_end(position)) > position:
            try:
                number = self._descriptor()
                for first, last in extents(number, position, end):
                    _write_zeros(number, first, last)
            except OSError as error:
                raise self._error(f"cannot be cut at {position}", error) from None
            self.view = self.view[: self._page_end(position)]
            self._before = {page: _cut(page, was, position) for page, was in self._before.items()}
        if position > self.position:
            self._directory.unflushed[self] = None
        self.position = position
        self.flushed = min(self.flushed, position)

    def _write(self, data: bytes | bytearray, start: int) -> None:
        """Write ``data``; raise StoreError if the disk refuses, perhaps after a part."""
        at, left = start, memoryview(data)
        try:
            number = self._descriptor()
            while left:
                count = os.pwrite(number, left, at)
                at += count
                left = left[count:]
        except OSError as error:
            raise self._error(f"cannot be written from {start} on", error) from None

    def _clear(self, start: int, end: int) -> None:
        """Write zeros over the part of a record that the disk took; behind it there are zeros."""
        if self._number != _NONE:  # else it took nothing
            with suppress(OSError):
                for first, last in extents(self._number, start, end):
                    _write_zeros(self._number, first, last)

    def _page(self, page: int) -> bytes:
        """Return the bytes of a page."""
        start = page * PAGE_BYTES
        return bytes(self.read(start, min(PAGE_BYTES, self.size_bytes - start)))

    def _page_end(self, position: int) -> int:
        """Return where the machine's page ends that has the byte before ``position``."""
        return min(-(-position // mmap.PAGESIZE) * mmap.PAGESIZE, self.size_bytes)

    # -- its descriptor -----------------------------------------------------------------------

    def _descriptor(self) -> int:
        if self._number == _NONE:
            self._number = self._directory.descriptor_of(self)
        return self._number

    def release(self) -> None:
        """Close its descriptor; the next call that needs one opens the file again."""
        if self._number != _NONE:
            os.close(self._number)
            self._number = _NONE

    def _error(self, what: str, error: OSError) -> StoreError:
        return store_error(self._directory.path_of(self.path), what, error)

    # -- flushing -----------------------------------------------------------------------------

    def flush(self) -> None:
        """Write all bytes and the time to the disk.

        Raise StoreError if the disk refuses, or the file was deleted: the bytes would go with it.
        """
        if self._flush_failed:
            # Linux takes pages that it could not write for written.
            for page in self.unflushed_pages():
                self._write(self._page(page), page * PAGE_BYTES)
        self._flush_failed = True
        try:
            _flush(self._descriptor())
            self._require_there()
        except OSError as error:
            raise self._error("cannot be flushed", error) from None
        self._flush_failed = False
        self.flushed = self.position
        self._ever_flushed = True
        self.flush_is_lost = False
        self._before.clear()
        self._directory.unflushed.pop(self, None)
        self.set_time()

    def _require_there(self) -> None:
        """Raise OSError if the file is no longer where it was: its bytes are lost at the end."""
        path = self._directory.path_of(self.path)
        try:
            status = os.stat(path)
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, "It was deleted or moved away", path) from None
        self.require_same(status)

    def require_same(self, status: os.stat_result) -> None:
        """Raise OSError if ``status`` is that of another file than the one that is mapped."""
        if (status.st_dev, status.st_ino) != self._identity:
            raise OSError(errno.ESTALE, "Another file has replaced it")

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
        self._directory.changing(self)
        start = page * PAGE_BYTES
        end = min(start + PAGE_BYTES, self.size_bytes)
        if self._ever_flushed:
            image = bytearray(self._before.get(page) or self._page(page))
            low, high = max(start, self.flushed), min(end, self.position)
            image[low - start : high - start] = bytes(max(0, high - low))
        else:
            image = bytearray(end - start)
        if image[kept_bytes:] != self._page(page)[kept_bytes:]:  # a hole stays a hole
            self._write(image[kept_bytes:], start + kept_bytes)

    def __repr__(self) -> str:
        return f"<file {self.path}, {self.position} of {self.size_bytes} bytes>"


def _cut(page: int, data: bytes, position: int) -> bytes:
    """Return a page's bytes, with zeros from the file's ``position`` on."""
    return data[: max(0, position - page * PAGE_BYTES)].ljust(len(data), b"\0")


class descriptor:  # noqa: N801 - used like a function
    """The descriptor of a file, open during a ``with`` block."""

    def __init__(self, path: str, flags: int) -> None:
        self._number = open_regular(path, flags)

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
    found = StoreError(f"{path}: {what}: {why}")
    found.passing = isinstance(error, OSError) and error.errno in _PASSING
    return found


def _flush(number: int) -> None:
    if _HAS_DATASYNC:
        os.fdatasync(number)
    else:
        os.fsync(number)


def _write_zeros(number: int, at: int, end: int) -> None:
    while at < end:
        at += os.pwrite(number, _ZEROS[: end - at], at)


def extents(number: int, start: int, end: int) -> list[tuple[int, int]]:
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
