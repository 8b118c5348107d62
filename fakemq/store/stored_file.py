"""A file of a store that is read without the store's own code, and may be damaged.

Files are read, not mapped: where a file was shortened, or a full tmpfs has no page for a hole, the
access to a mapping ends the process.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterator

from fakemq.errors import ConfigError, printable
from fakemq.files.regular import open_regular, require_regular
from fakemq.store.directory_file import extents

BLOCK_BYTES = 1 << 16
"""How many bytes are read at once where a file is read from place to place."""
_OPEN_FILES = 64


class OpenFiles:
    """Files open for reading; only the 64 last used stay open."""

    def __init__(self) -> None:
        self._numbers: OrderedDict[str, int] = OrderedDict()

    def number(self, path: str) -> int:
        """Return the descriptor of a file until the next call; raise OSError as `open_regular`."""
        found = self._numbers.pop(path, None)
        if found is None:
            found = open_regular(path, os.O_RDONLY)
            if len(self._numbers) >= _OPEN_FILES:
                os.close(self._numbers.popitem(last=False)[1])
        self._numbers[path] = found
        return found

    def __del__(self) -> None:
        for number in self._numbers.values():
            os.close(number)


def cannot_read(path: str, error: OSError) -> ConfigError:
    """Return the error for a file or a folder of a store that cannot be read."""
    return ConfigError(printable(f"{path}: cannot be read: {error.strerror}"))


class StoredFile:
    """A file, mostly one of a row; ``offset``, of its first byte, is its name there."""

    __slots__ = ("_files", "name", "offset", "path", "size_bytes")

    def __init__(self, files: OpenFiles, path: str, name: str) -> None:
        self._files = files
        self.path = path
        self.name = name
        base = os.path.basename(path)
        self.offset = int(base) if base.isdecimal() else 0
        try:
            require_regular(path)
            self.size_bytes = os.path.getsize(path)
        except OSError as error:
            raise cannot_read(path, error) from None

    def read(self, position: int, size_bytes: int) -> bytes:
        """Return these bytes; fewer at the end of the file, as long as it was when it was found.

        Raise ConfigError if the file cannot be read, or is shorter now.
        """
        wanted = min(size_bytes, self.size_bytes - position)
        if wanted <= 0:
            return b""
        try:
            number = self._files.number(self.path)
            data = os.pread(number, wanted, position)
            while len(data) < wanted:
                more = os.pread(number, wanted - len(data), position + len(data))
                if not more:
                    raise ConfigError(printable(f"{self.path}: was shortened while it was read"))
                data += more
        except OSError as error:
            raise cannot_read(self.path, error) from None
        return data

    def data_from(self, position: int) -> int | None:
        """Return the first position from ``position`` on with a non-zero byte; None if none has."""
        for begin, end in self._extents(position):
            for at in range(begin, end, BLOCK_BYTES):
                piece = self.read(at, min(BLOCK_BYTES, end - at))
                left = len(piece.lstrip(b"\0"))
                if left:
                    return at + len(piece) - left
        return None

    def data_end(self) -> int:
        """Return the position behind the last byte that is not zero."""
        for begin, end in reversed(self._extents(0)):
            while end > begin:
                at = max(begin, end - BLOCK_BYTES)
                left = len(self.read(at, end - at).rstrip(b"\0"))
                if left:
                    return at + left
                end = at
        return 0

    def data(self) -> Iterator[tuple[int, bytes]]:
        """Yield position and bytes of the blocks that are not holes."""
        for begin, end in self._extents(0):
            for at in range(begin - begin % BLOCK_BYTES, end, BLOCK_BYTES):
                yield at, self.read(at, BLOCK_BYTES)

    def places(self, wanted: bytes, position: int, end: int) -> Iterator[int]:
        """Yield where these bytes are between two positions."""
        end = min(end, self.size_bytes)
        for at in range(position, end, BLOCK_BYTES):
            # A block and the begin of the next one, where a place may end: none is seen twice.
            piece = self.read(at, min(BLOCK_BYTES + len(wanted) - 1, end - at))
            found = piece.find(wanted)
            while found >= 0:
                yield at + found
                found = piece.find(wanted, found + 1)

    def _extents(self, position: int) -> list[tuple[int, int]]:
        """Return the ranges from ``position`` on that are not holes."""
        try:
            return extents(self._files.number(self.path), position, self.size_bytes)
        except OSError as error:
            raise cannot_read(self.path, error) from None
