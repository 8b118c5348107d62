"""A row of files of one size that is addressed as one long file.

A file's name is the offset of its first byte in the whole, 20 digits. Source:
store/MappedFileQueue.java (4.9.7)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fakemq.errors import StoreError

if TYPE_CHECKING:
    from fakemq.store.files import File, Files


class Cut(NamedTuple):
    """Bytes cut off a file: ``cut_bytes`` from the position ``offset`` on."""

    path: str
    offset: int
    cut_bytes: int


class MappedFileQueue:
    """Files in order; ``last`` takes the appends, ``last_offset`` is its first byte's offset.

    ``grows`` is as for `Files.open`.
    """

    __slots__ = (
        "_files",
        "_first_offset",
        "_grows",
        "file_size_bytes",
        "folder",
        "last",
        "last_offset",
        "row",
    )

    def __init__(
        self, files: Files, folder: str, file_size_bytes: int, *, grows: bool = False
    ) -> None:
        self._files = files
        self._grows = grows
        self.folder = folder
        self.file_size_bytes = file_size_bytes
        self.row: list[File] = []
        self.last: File | None = None
        self.last_offset = 0
        self._first_offset = 0

    @property
    def max_offset(self) -> int:
        """The offset of the next byte; 0 if there is no file."""
        return 0 if self.last is None else self.last_offset + self.last.position

    @property
    def min_offset(self) -> int:
        """Offset of the first byte of the first file; -1 if there is no file."""
        return self._first_offset if self.row else -1

    def add_file(self, start_offset: int, now_ms: int) -> File:
        """Add the next file and return it; the first file is that with ``start_offset`` in it."""
        size_bytes = self.file_size_bytes
        if self.row:
            offset = self.last_offset + size_bytes
        else:
            offset = self._first_offset = start_offset - start_offset % size_bytes
        path = f"{self.folder}/{offset:020}"
        file = self._files.open(path, size_bytes, now_ms, grows=self._grows)
        self.row.append(file)
        self.last = file
        self.last_offset = offset
        return file

    def clear_folder(self) -> None:
        """Delete the files in the folder that are not in the row."""
        known = {file.path for file in self.row}
        for path in self._files.list(self.folder):
            if path not in known:
                self._files.delete(path)

    def load(self, now_ms: int) -> None:
        """Open the existing files, each as if full; raise StoreError for a gap or a wrong name.

        Source: store/MappedFileQueue.java#load (4.9.7), which does not notice a gap
        """
        for path in self._files.list(self.folder):
            name = path.rpartition("/")[2]
            offset = int(name) if name.isdecimal() and len(name) == 20 else -1
            if offset % self.file_size_bytes or path != f"{self.folder}/{name}":
                raise StoreError(
                    f"{self._files.path_of(path)}: no file of {self.file_size_bytes} bytes is"
                    " called so; start with the sizes it was written with, or move it away"
                )
            if self.row and offset != self.last_offset + self.file_size_bytes:
                missing = f"{self.folder}/{self.last_offset + self.file_size_bytes:020}"
                raise StoreError(f"{self._files.path_of(missing)}: is missing before {name}")
            self.last = self._files.open(path, self.file_size_bytes, now_ms, grows=self._grows)
            if not self.row:
                self._first_offset = offset
            self.row.append(self.last)
            self.last_offset = offset

    def first_offset_of(self, index: int) -> int:
        """Return the offset of the first byte of one of the files of the ``row``."""
        return self._first_offset + index * self.file_size_bytes

    def truncate(self, offset: int) -> list[Cut]:
        """Cut the row off at ``offset``, which is not behind its end; return what was cut off.

        Source: store/MappedFileQueue.java#truncateDirtyFiles (4.9.7)
        """
        cuts = []
        while self.last_offset > offset and (cut := self.drop_last()) is not None:
            cuts.append(cut)
        last, position = self.last, offset - self.last_offset
        if last is not None and 0 <= position < last.size_bytes:
            cuts.append(Cut(last.path, position, last.data_end(position) - position))
            last.truncate(position)
        return [cut for cut in cuts if cut.cut_bytes]

    def drop_last(self) -> Cut | None:
        """Delete the last file; return what was in it, or None if there is no file."""
        if not self.row:
            return None
        last = self.row[-1]
        cut = Cut(last.path, 0, last.data_end(0))
        self._files.delete(last.path)
        del self.row[-1]
        self.last = self.row[-1] if self.row else None
        self.last_offset = self.first_offset_of(len(self.row) - 1) if self.row else 0
        return cut

    def find(self, offset: int) -> File | None:
        """Return the file that contains ``offset``."""
        row = self.row
        if not row or offset < self._first_offset:
            return None
        index = (offset - self._first_offset) // self.file_size_bytes
        return row[index] if index < len(row) else None

    def find_by_time(self, timestamp_ms: int) -> tuple[File, int] | None:
        """Return the first file changed at or after a time, or the last one; and its first offset.

        Source: store/MappedFileQueue.java#getMappedFileByTime (4.9.7)
        """
        for index, file in enumerate(self.row):
            if file.mtime_ms >= timestamp_ms or file is self.last:
                return file, self._first_offset + index * self.file_size_bytes
        return None

    def delete_before(self, offset: int) -> int:
        """Delete files that end at or before ``offset``, but never the last; return how many."""
        count = 0
        while len(self.row) > 1 and self._first_offset + self.file_size_bytes <= offset:
            self._files.delete(self.row[0].path)  # if this fails, the file stays the first one
            del self.row[0]
            self._first_offset += self.file_size_bytes
            count += 1
        return count

    def destroy(self) -> None:
        """Delete all files."""
        for file in self.row:
            self._files.delete(file.path)
        self.row.clear()
        self.last = None
        self.last_offset = self._first_offset = 0
